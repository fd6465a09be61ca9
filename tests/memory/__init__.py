import json
from pathlib import Path

SAMPLES = json.loads(Path(__file__).with_name("samples.json").read_text("utf-8"))
