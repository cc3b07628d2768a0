"""Pictures from files: every kind that pillow writes, and files that are none."""

import sys
import warnings

import numpy as np
import pytest
from PIL import Image

from whyodd.io.images import PictureFiles, alike, image_files, read_image, read_images, resized

RANDOM = np.random.default_rng(0)
GREY = RANDOM.integers(0, 256, (12, 17), dtype=np.uint8)
COLOUR = RANDOM.integers(0, 256, (12, 17, 3), dtype=np.uint8)


def save(array, path, **options):
    Image.fromarray(array).save(path, **options)
    return path


def mode_of(path):
    with Image.open(path) as picture:
        return picture.mode


class TestFiles:
    def test_folder_sorted_and_not_inside_it(self, tmp_path):
        for name in ("b.PNG", "a.jpeg", "c.tif", ".hidden.png", "notes.txt"):
            (tmp_path / name).touch()
        (tmp_path / "inside").mkdir()
        (tmp_path / "inside" / "d.png").touch()
        (tmp_path / "folder.png").mkdir()
        assert [file.name for file in image_files(tmp_path)] == ["a.jpeg", "b.PNG", "c.tif"]

    def test_one_file_of_any_ending(self, tmp_path):
        path = save(GREY, tmp_path / "scan.png").rename(tmp_path / "scan.dat")
        assert image_files(str(path)) == [path]

    def test_empty_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="holds no pictures: expected files that end in"):
            image_files(tmp_path)

    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="absent does not exist: expected a picture or a folder"):
            image_files(tmp_path / "absent")


class TestKinds:
    @pytest.mark.parametrize("ending", ["png", "bmp", "tiff", "webp"])
    @pytest.mark.parametrize("array", [GREY, COLOUR], ids=["grey", "colour"])
    def test_eight_bits(self, tmp_path, ending, array):
        if ending == "webp" and array.ndim == 2:
            array = np.repeat(array[..., None], 3, axis=-1)  # WebP has no grey
        path = save(array, tmp_path / f"a.{ending}", **({"lossless": True} if ending == "webp" else {}))
        read = read_image(path)
        assert read.dtype == np.uint8
        np.testing.assert_array_equal(read, array)
        assert read.flags.writeable

    def test_sixteen_bits_are_kept(self, tmp_path):
        values = RANDOM.integers(0, 65536, (12, 17), dtype=np.uint16)
        for ending in ("png", "tiff"):
            read = read_image(save(values, tmp_path / f"a.{ending}"))
            assert read.dtype == np.uint16
            np.testing.assert_array_equal(read, values)

    def test_sixteen_bits_in_the_other_order(self, tmp_path):
        values = RANDOM.integers(0, 65536, (12, 17), dtype=np.uint16)
        Image.frombytes("I;16B", (17, 12), values.astype(">u2").tobytes()).save(tmp_path / "a.tiff")
        read = read_image(tmp_path / "a.tiff")
        assert read.dtype == np.dtype(np.uint16).newbyteorder("=")
        np.testing.assert_array_equal(read, values)

    def test_32_bits_and_floats(self, tmp_path):
        whole = RANDOM.integers(-(10**6), 10**6, (5, 6), dtype=np.int32)
        np.testing.assert_array_equal(read_image(save(whole, tmp_path / "a.tiff")), whole)
        floats = RANDOM.normal(size=(5, 6)).astype(np.float32)
        read = read_image(save(floats, tmp_path / "b.tiff"))
        assert read.dtype == np.float32
        np.testing.assert_array_equal(read, floats)

    def test_missing_numbers_are_an_error(self, tmp_path):
        path = save(np.array([[0.0, np.nan]], dtype=np.float32), tmp_path / "a.tiff")
        with pytest.raises(OSError, match=r"cannot read .*a\.tiff: it holds missing or infinite numbers\."):
            read_image(path)

    def test_one_bit(self, tmp_path):
        bits = GREY > 128
        read = read_image(save(bits, tmp_path / "a.png"))
        assert read.dtype == np.uint8
        np.testing.assert_array_equal(read, np.where(bits, 255, 0))

    def test_palette_of_colours(self, tmp_path):
        few = COLOUR // 128 * 255
        Image.fromarray(few).quantize(8, dither=Image.Dither.NONE).save(tmp_path / "a.png")
        assert mode_of(tmp_path / "a.png") == "P"
        np.testing.assert_array_equal(read_image(tmp_path / "a.png"), few)

    def test_palette_of_greys_is_grey(self, tmp_path):
        few = GREY // 64 * 85
        Image.fromarray(np.repeat(few[..., None], 3, axis=-1)).quantize(4).save(tmp_path / "a.png")
        assert mode_of(tmp_path / "a.png") == "P"
        np.testing.assert_array_equal(read_image(tmp_path / "a.png"), few)

    @pytest.mark.parametrize("array", [GREY, COLOUR], ids=["grey", "colour"])
    def test_transparent_pixels_are_laid_on_white(self, tmp_path, array):
        opacity = RANDOM.integers(0, 256, (12, 17), dtype=np.uint8)
        colours = array if array.ndim == 3 else array[..., None]
        path = save(np.concatenate([colours, opacity[..., None]], axis=-1), tmp_path / "a.png")
        share = opacity[..., None] / 255.0
        expected = (share * colours + (1 - share) * 255).reshape(array.shape)
        read = read_image(path)
        assert read.shape == array.shape
        assert np.abs(read - expected).max() <= 1.0  # pillow rounds

    @pytest.mark.parametrize("mode", ["P", "RGB", "L"])
    def test_a_transparent_colour(self, tmp_path, mode):
        flat = Image.new(mode, (4, 3), 0)
        flat.paste(1 if mode == "P" else (9 if mode == "L" else (9, 9, 9)), (0, 0, 2, 3))
        if mode == "P":
            flat.putpalette([0, 0, 0, 9, 9, 9])
        flat.save(tmp_path / "a.png", transparency=(0, 0, 0) if mode == "RGB" else 0)
        read = read_image(tmp_path / "a.png")
        assert read.shape == ((3, 4, 3) if mode == "RGB" else (3, 4))
        assert (read[:, 2:] == 255).all()
        assert (read[:, :2] == 9).all()

    def test_cmyk_becomes_rgb(self, tmp_path):
        Image.new("CMYK", (6, 5), (0, 255, 255, 0)).save(tmp_path / "a.tiff")
        read = read_image(tmp_path / "a.tiff")
        assert read.shape == (5, 6, 3)
        np.testing.assert_array_equal(read[0, 0], [255, 0, 0])

    def test_turned_as_exif_says(self, tmp_path):
        exif = Image.Exif()
        exif[0x0112] = 6  # to be turned clockwise by a quarter
        path = save(COLOUR, tmp_path / "a.png", exif=exif)
        np.testing.assert_array_equal(read_image(path), np.rot90(COLOUR, -1))

    def test_first_of_an_animation(self, tmp_path):
        frames = [Image.fromarray(np.full((4, 4), value, dtype=np.uint8)) for value in (10, 200)]
        frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
        assert set(read_image(tmp_path / "a.gif").ravel()) == {10}


class TestTroubles:
    @pytest.mark.parametrize("ending", ["png", "jpg", "tiff", "bmp", "gif"])
    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_truncated(self, tmp_path, ending, share):
        noise = RANDOM.integers(0, 256, (64, 64, 3), dtype=np.uint8)
        whole = save(noise, tmp_path / f"whole.{ending}").read_bytes()
        path = tmp_path / f"cut.{ending}"
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(OSError, match=rf"cannot read .*cut\.{ending}: .*\.$") as caught:
            read_image(path)
        assert "\n" not in str(caught.value)

    def test_scrambled_bytes_never_escape_as_another_error(self, tmp_path):
        whole = bytearray(save(COLOUR, tmp_path / "whole.png").read_bytes())
        path = tmp_path / "scrambled.png"
        refused = 0
        for _ in range(150):
            scrambled = bytearray(whole)
            for at in RANDOM.integers(8, len(whole), 4):
                scrambled[at] = RANDOM.integers(256)
            path.write_bytes(scrambled)
            try:
                read_image(path)
            except OSError:
                refused += 1
        assert refused > 50

    @pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n\x1a\n"])
    def test_no_picture(self, tmp_path, content):
        path = tmp_path / "note.png"
        path.write_bytes(content)
        with pytest.raises(OSError, match=r"cannot read .*note\.png: ") as caught:
            read_image(path)
        assert "0x" not in str(caught.value)

    def test_missing_file(self, tmp_path):
        with pytest.raises(OSError, match=r"cannot read .*a\.png: No such file or directory\."):
            read_image(tmp_path / "a.png")

    @pytest.mark.parametrize(
        "limit", [150, 80]
    )  # pillow warns beyond its limit, and refuses beyond twice that
    def test_too_large(self, tmp_path, monkeypatch, limit):
        path = save(GREY, tmp_path / "huge.png")
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(OSError, match=rf"huge\.png: it has more than {limit} pixels"):
            read_image(path)

    def test_warnings_of_pillow_are_not_passed_on(self, tmp_path):
        exif = Image.Exif()
        exif[0x010E] = "note"
        path = save(COLOUR, tmp_path / "a.jpg", exif=exif.tobytes()[:-6])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert read_image(path).shape == COLOUR.shape

    def test_without_pillow_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "PIL", None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'whyodd\[plots\]'"):
            read_image(tmp_path / "a.png")


class TestAlike:
    def test_grey_and_colour(self, tmp_path):
        paths = [save(GREY, tmp_path / "grey.png"), save(COLOUR, tmp_path / "colour.png")]
        grey, colour = read_images(paths)
        np.testing.assert_array_equal(grey, np.stack([GREY] * 3, axis=-1))
        np.testing.assert_array_equal(colour, COLOUR)

    def test_grey_alone_stays_grey(self, tmp_path):
        assert read_images([save(GREY, tmp_path / "a.png")])[0].ndim == 2

    def test_white_of_8_and_16_bits(self):
        images = alike([np.array([[0, 255]], dtype=np.uint8), np.array([[7, 65535]], dtype=np.uint16)])
        assert [image.dtype for image in images] == [np.uint16] * 2
        np.testing.assert_array_equal(images[0], [[0, 65535]])
        np.testing.assert_array_equal(images[1], [[7, 65535]])

    def test_numbers_without_a_common_white(self):
        with pytest.raises(ValueError, match="float32 and uint8, with different values for white"):
            alike([GREY, GREY.astype(np.float32)])


class TestResized:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32])
    @pytest.mark.parametrize("channels", [(), (3,)])
    def test_kind_and_shape(self, dtype, channels):
        image = (RANDOM.random((30, 60, *channels)) * 200).astype(dtype)
        smaller = resized(image, 20)
        assert smaller.dtype == dtype
        assert smaller.shape == (10, 20, *channels)
        assert abs(float(smaller.mean()) - float(image.mean())) < 5

    def test_fine_stripes_become_grey_not_coarse_stripes(self):
        stripes = np.tile(np.array([0, 255], dtype=np.uint8), (40, 50))
        assert resized(stripes, 31).std() < 16  # picking pixels would leave 127

    def test_overshoot_is_clipped(self):
        step = np.repeat(np.array([[0, 65535]], dtype=np.uint16), 30, axis=1)
        larger = resized(np.repeat(step, 8, axis=0), 200)
        assert larger[:, :90].max() < 1000  # not wrapped around
        assert larger[:, 110:].min() > 64000

    def test_at_least_one_row(self):
        assert resized(np.zeros((2, 900), dtype=np.uint8), 10).shape == (1, 10)


class TestPictureFiles:
    @pytest.fixture
    def files(self, tmp_path):
        return [save(GREY, tmp_path / "grey.png"), save(COLOUR, tmp_path / "colour.png")]

    def test_all_in_colour(self, files):
        pictures = PictureFiles(files, in_colour=True)
        assert len(pictures) == 2
        np.testing.assert_array_equal(pictures[0], np.stack([GREY] * 3, axis=-1))
        np.testing.assert_array_equal(pictures[1], COLOUR)

    def test_all_in_grey(self, files):
        first, second = PictureFiles(files, in_colour=False)
        np.testing.assert_array_equal(first, GREY)
        assert second.shape == GREY.shape
        assert second.dtype == np.uint8
        expected = COLOUR @ np.array([0.299, 0.587, 0.114])
        assert np.abs(second - expected).max() <= 0.5 + 1e-4

    def test_at_a_width(self, files):
        pictures = PictureFiles(files, in_colour=True, width=8)
        assert [picture.shape for picture in pictures] == [(6, 8, 3)] * 2
        np.testing.assert_array_equal(pictures[1], resized(COLOUR, 8))

    def test_read_when_asked(self, files):
        pictures = PictureFiles([*files, files[0].with_name("absent.png")], in_colour=False)
        np.testing.assert_array_equal(pictures[0], GREY)
        with pytest.raises(OSError, match=r"absent\.png"):
            pictures[2]
