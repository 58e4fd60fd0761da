"""What the first pages of the manifest's format show, as it stands there."""

from pathlib import Path

MANIFEST = Path(__file__).with_name("seed_manifest.yaml").read_text(encoding="utf-8")
