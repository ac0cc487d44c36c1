from pathlib import Path

from PIL import Image

from withinpx.experiments.clevr_sheet import draw_datasets

SAMPLE = Path(__file__).parent.parent / "data" / "clevr_sample"


def test_every_dataset_has_a_column(tmp_path: Path) -> None:
    widths = []
    for columns in (1, 3):
        with Image.open(draw_datasets(tmp_path / "sheet.png", [SAMPLE] * columns)) as sheet:
            widths.append(sheet.width)
    assert 2.5 < widths[1] / widths[0] < 3.5
