"""Strict YAML: text in; plain data, positions and validated models out.

Every file that people write passes through here. It must not build objects from tags, follow references or touch files.
"""

from sol.strictyaml.document import Document, Position, Problem, StrictYamlError, YamlPath, load_yaml
from sol.strictyaml.validate import validate_model

__all__ = ["Document", "Position", "Problem", "StrictYamlError", "YamlPath", "load_yaml", "validate_model"]
