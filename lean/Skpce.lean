import Skpce.Claims
import Skpce.Expansion
import Skpce.QuadraticForms
import Skpce.SampleSize
import Skpce.Share
import Skpce.Sobol
import Skpce.Softmax
import Skpce.SoftmaxLipschitz
