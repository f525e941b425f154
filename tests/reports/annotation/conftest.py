"""A world of disputed images, a run about photographs, and a browser to look at sheets of both."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.data.readers.imagenet_sample import open_sample
from tests.reports.shot_worlds import MODEL, SECOND, World


@pytest.fixture
def world(make_shot_world: Callable[..., World]) -> Iterator[World]:
    """The world above."""
    return make_shot_world()


@pytest.fixture
def sampled(make_shot_world: Any, shot: Any) -> Any:
    """Thirty images with one label each; of every six, one model is wrong about one and both about another."""
    shots = {}
    for n in range(30):
        label = n + 200
        model, second = (n + 400, n + 600) if n % 6 == 0 else (label, n + 600) if n % 6 == 1 else (label, label)
        shots[f"shot {n}"] = shot(n, (label,), model, second)
    return make_shot_world(shots)


@pytest.fixture
def annotate(sampled: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command and return the sheet, or what is said where it is refused."""

    def annotate(*options: str, name: str = "sheet", code: int = 0) -> Any:
        sheet = sampled.out / f"{name}.html"
        data = (f"--data={sampled.root}", f"--store={sampled.root / 's'}")
        assert main(["annotate", str(sampled.run), "--labels=ReGT", *data, *options, f"--out={sheet}"]) == code
        output = capsys.readouterr()
        return sheet if code == 0 else output.err

    return annotate


@dataclass
class SheetDriver:
    """A page, with all that it complained of and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def start(self, url: str) -> None:
        """Open a sheet once the browser has forgotten what it stored for an earlier test, which takes it a moment."""
        for _ in range(50):
            self.complaints.clear()
            self.requests.clear()
            self.page.goto(url)
            if self.page.evaluate("localStorage.length") == 0:
                return
            self.page.evaluate("localStorage.clear()")
            self.page.wait_for_timeout(100)
        pytest.fail("the browser does not forget what it stored")

    def close_others(self) -> None:
        """Close all pages but the last."""
        for page in self.page.context.pages:
            if page is not self.page:
                page.close()

    def text(self, name: str) -> str:
        return str(self.page.locator(f"#{name}").inner_text())

    def checked(self) -> list[str]:
        """The names that are chosen on the page."""
        names = self.page.locator("form li:has(:checked) span").all_inner_texts()
        return [str(name) for name in names]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def reopen(self) -> None:
        """Open the page again and close the one before, as soon as the browser has stored what that one wrote.

        A browser stores in the background: a reload can show what was stored before, and a browser context whose only
        page is closed can lose what that page wrote last.
        """
        before, written = self.page, self.page.evaluate("() => ({ ...localStorage })")
        for _ in range(50):
            self.page = before.context.new_page()
            self.listen()
            self.page.goto(before.url)
            stored = self.page.evaluate("() => ({ ...localStorage })")
            if stored == written:
                before.close()
                return
            self.page.close()
            before.wait_for_timeout(200)
        pytest.fail(f"the browser stored {stored}, and the page wrote {written}")

    def download(self, folder: Path) -> Path:
        with self.page.expect_download() as found:
            self.page.get_by_role("button", name="Download answers").click()
        path = folder / found.value.suggested_filename
        found.value.save_as(path)
        return path


@pytest.fixture(scope="package")
def browser(browsing: dict[str, Any]) -> Iterator[Any]:
    """The Chromium of all tests here: a new one takes longer than a sheet."""
    with browsing["chromium"]() as found:
        yield found


@pytest.fixture(scope="package")
def new_browser(browser: Any) -> Callable[[], SheetDriver]:
    """Start a browser that knows nothing yet."""

    def new_browser() -> SheetDriver:
        driver = SheetDriver(browser.new_context(accept_downloads=True).new_page())
        driver.listen()
        return driver

    return new_browser


@pytest.fixture(scope="package")
def shared_browser(new_browser: Callable[[], SheetDriver]) -> SheetDriver:
    """Return the browser that all tests here use one after the other: a new one takes longer than a sheet."""
    return new_browser()


@pytest.fixture
def opened(shared_browser: SheetDriver, new_browser: Callable[[], SheetDriver]) -> Iterator[Callable[..., SheetDriver]]:
    """Open sheets, each in a browser that knows nothing yet; no page may complain or ask for anything but itself."""
    drivers: list[tuple[SheetDriver, str]] = []

    def opened(sheet: Path, width: int = 1280, height: int = 720, color_scheme: str = "light") -> SheetDriver:
        driver = new_browser() if drivers else shared_browser
        drivers.append((driver, sheet.as_uri()))
        driver.page.set_viewport_size({"width": width, "height": height})
        driver.page.emulate_media(color_scheme=color_scheme)
        driver.start(sheet.as_uri())
        return driver

    yield opened
    for driver, url in drivers:
        driver.close_others()
        assert driver.complaints == []
        assert {url_ for url_ in driver.requests if not url_.startswith(("data:", "blob:"))} == {url}
        if driver is not shared_browser:
            driver.page.context.close()


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str], answers: Path) -> Path:
    """A run of the packaged photographs with both default models, under labels that dispute what they see."""
    folder = tmp_path_factory.mktemp("photographs")
    (folder / "store").symlink_to(answers)
    lines = ["file,labels", *(f"{row.file},{wrong(row.label)}" for row in open_sample("sample").index)]
    (folder / "regt.csv").write_text("\n".join(lines), encoding="utf-8")
    options = [
        f"--eye-labels=ReGT={folder / 'regt.csv'}",
        f"--eye-out={folder / 'runs'}",
        "--eye-offline",
        "--eye-limit=20",
    ]
    command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", "imagenet/sample/", "-p", "no:cacheprovider"]
    run = [*warm_python, "-m", *command, *options, f"--eye-store={folder / 'store'}"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def wrong(label: int) -> str:
    """Labels by their number: of every five classes, two have another label, one has two others, two have none."""
    others: dict[int, tuple[int, ...]] = {0: (label + 3,), 1: (label + 3,), 2: (label + 3, label + 4)}
    return ";".join(str(label_ % 1000) for label_ in others.get(label % 5, ()) if label >= 0)


@pytest.fixture
def sheet(photographs: Path, tmp_path: Path, made_once: Callable[..., Path]) -> Path:
    """A sheet of six photographs."""
    copytree(made_once(write_sheet, photographs), tmp_path, dirs_exist_ok=True)
    return tmp_path / "sheet.html"


def write_sheet(folder: Path, photographs: Path) -> None:
    """Write a sheet of six photographs into a folder."""
    options = [f"--model={MODEL}", f"--second={SECOND}", f"--store={photographs / 'store'}", "--limit=6"]
    run = str(photographs / "runs" / "latest")
    assert main(["annotate", run, "--labels=ReGT", *options, f"--out={folder / 'sheet.html'}"]) == 0
