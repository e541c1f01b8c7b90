"""Embeddings beyond scikit-learn's, as transformers for a Pipeline.

Import it by name: ``from skpce.embedding import BetaVAE``. torch and zuko are imported
in ``fit``, so that the import alone needs neither.
"""

from ._beta_vae import BetaVAE
from ._components import NormalizingFlow, PLSTransformer

__all__ = ["BetaVAE", "NormalizingFlow", "PLSTransformer"]
