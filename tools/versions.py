"""Run the quick tests with the lowest and the highest versions of the requirements, on each Python.

    python tools/versions.py [--python 3.11 3.12 3.13] [--versions lowest highest newest] [--folder build/versions]
        [--page docs/installation.md] [-- PYTEST ARGUMENTS]

Run it in the repository root. `uv` (`pip install uv`) finds the versions, the interpreters and the packages; its own
variables, such as UV_FIND_LINKS and UV_CACHE_DIR, set where from. Each environment has the wheel of the project and the
requirements of its extra `test`, in a folder PYTHON-VERSIONS with requirements.txt, venv, pytest.log and result.json:

- lowest: the lowest version that pyproject.toml allows of each of its requirements;
- highest: the highest versions that it allows;
- newest: the highest versions without the upper bounds of pyproject.toml, to see whether one can be raised.

Printed is a table, which `--page` writes into that page, too. A result is used again if the requirements, the files of
the project and the arguments of pytest are the same, so a run that was stopped goes on where it was. `venv` is deleted
after the tests unless `--keep` is given. The exit status is 1 if a test failed or an environment could not be made.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

EXTRA = "test"
VERSIONS: Mapping[str, tuple[str, ...]] = {
    "lowest": ("--resolution=lowest-direct",),
    "highest": (),
    "newest": ("--override=overrides.txt",),
}
COLUMNS = ("torch", "transformers", "open-clip-torch", "timm", "numpy", "pandas", "pytest")
TABLE_TESTS = "tests/tools/test_versions.py"  # it compares the bounds with the table of an earlier run
TESTS = ("tests", "-n", "2", f"--ignore={TABLE_TESTS}")
BEGIN, END = "<!-- written by tools/versions.py -->", "<!-- end of what tools/versions.py writes -->"


class VersionsError(Exception):
    """An environment that cannot be made, with the command that failed."""


@dataclass(frozen=True)
class Result:
    """The tests of one environment: its packages, the numbers of tests by outcome, the names of those that failed."""

    fingerprint: str
    python: str
    versions: str
    packages: Mapping[str, str]
    passed: int
    skipped: int
    failures: Sequence[str]
    seconds: float


def direct_requirements(project: Mapping[str, Any], extra: str = EXTRA) -> Iterator[Requirement]:
    """Yield the requirements of a project and of one of its extras; an extra may name other extras of the project."""
    yield from map(Requirement, project.get("dependencies", ()))
    yield from _of_extra(project, extra)


def _of_extra(project: Mapping[str, Any], extra: str) -> Iterator[Requirement]:
    for requirement in map(Requirement, project.get("optional-dependencies", {}).get(extra, ())):
        if canonicalize_name(requirement.name) == canonicalize_name(project["name"]):
            for name in sorted(requirement.extras):
                yield from _of_extra(project, name)
        else:
            yield requirement


def without_upper_bound(requirement: Requirement) -> str:
    """Return a requirement without its upper bound: `timm>=1,<2` becomes `timm>=1`."""
    bounds = (str(part) for part in requirement.specifier if part.operator not in ("<", "<="))
    return f"{requirement.name}{SpecifierSet(','.join(bounds))}"


def run(*command: object, folder: Path | None = None) -> str:
    """Run a command and return what it prints; raise VersionsError with its last lines if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise VersionsError(f"`{' '.join(words)}` ended with status {done.returncode}:\n{last}")
    return done.stdout


def list_files(root: Path) -> Iterator[str]:
    """Yield the files of a project that git tracks or would track, by their paths from the root."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=root)
    yield from sorted(name for name in {*listed.split("\0")} - {""} if (root / name).is_file())


def build_wheel(uv: str, root: Path, folder: Path) -> Path:
    """Build the wheel of a project from a copy of its files, so that nothing of an earlier build enters it."""
    for name in ("source", "dist"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in list_files(root):
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / "source" / name)
    run(uv, "build", "--wheel", "--quiet", "--out-dir", folder / "dist", folder / "source")
    (path,) = (folder / "dist").glob("*.whl")
    return path


def digest_files(root: Path) -> str:
    """Return a digest of the files of a project, less its documentation."""
    digest = hashlib.sha256()
    for name in list_files(root):
        if not name.endswith(".md"):
            digest.update(f"{name}\0{hashlib.sha256((root / name).read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Environment:
    """A virtual environment with one set of versions on one Python, and the tests in it."""

    uv: str
    root: Path
    folder: Path
    python: str
    versions: str

    @property
    def interpreter(self) -> Path:
        """The path of its interpreter."""
        return self.folder / "venv" / "bin" / "python"

    def resolve(self) -> Mapping[str, str]:
        """Choose the version of every package, write requirements.txt, and return the versions by package."""
        self.folder.mkdir(parents=True, exist_ok=True)
        flags = ("--quiet", "--no-build", "--no-python-downloads", "--no-annotate", "--no-header")
        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        overrides = map(without_upper_bound, direct_requirements(project))
        (self.folder / "overrides.txt").write_text("\n".join(overrides) + "\n", encoding="utf-8")
        (self.folder / "requirements.txt").unlink(missing_ok=True)  # uv would prefer its versions
        run(
            self.uv, "pip", "compile", self.root / "pyproject.toml", "--extra", EXTRA, *flags, *VERSIONS[self.versions],
            "--python", self.python, "--output-file", "requirements.txt", folder=self.folder,
        )  # fmt: skip
        lines = (self.folder / "requirements.txt").read_text(encoding="utf-8")
        return dict(re.findall(r"^([\w.-]+)==([\w.+!-]+)", lines, re.MULTILINE))

    def install(self, wheel: Path) -> None:
        """Make the virtual environment anew, with the chosen versions and the wheel."""
        quiet = ("--quiet", "--python", self.interpreter)
        run(self.uv, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", self.python, "venv",
            folder=self.folder)  # fmt: skip
        run(self.uv, "pip", "sync", *quiet, "requirements.txt", folder=self.folder)
        run(self.uv, "pip", "install", *quiet, "--no-deps", wheel, folder=self.folder)

    def test(self, arguments: Sequence[str], packages: Mapping[str, str], fingerprint: str) -> Result:
        """Run pytest in the repository root, the tests that failed once more, and count the outcomes.

        A test that fails only the first time, as one with a time limit may on a busy machine, is one that passed.
        """
        started = time.monotonic()
        outcomes = self._pytest("pytest", arguments)
        failures = [name for name, outcome in outcomes.items() if outcome == "failed"]
        if failures:
            again = self._pytest("again", (*arguments, "--last-failed"))
            failures = [name for name in failures if again.get(name) != "passed"]
        skipped = sum(outcome == "skipped" for outcome in outcomes.values())
        return Result(
            fingerprint=fingerprint,
            python=run(self.interpreter, "-c", "import platform; print(platform.python_version())").strip(),
            versions=self.versions,
            packages=packages,
            passed=len(outcomes) - len(failures) - skipped,
            skipped=skipped,
            failures=failures,
            seconds=round(time.monotonic() - started, 1),
        )

    def _pytest(self, name: str, arguments: Sequence[str]) -> Mapping[str, str]:
        """Run pytest with its output in NAME.log, and return the outcome of each test."""
        report, log = self.folder / f"{name}.xml", self.folder / f"{name}.log"
        report.unlink(missing_ok=True)
        options = (f"--junitxml={report}", "-o", f"cache_dir={self.folder / 'cache'}")
        environ = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        with log.open("w", encoding="utf-8") as file:
            command = [str(self.interpreter), "-m", "pytest", *arguments, *options]
            subprocess.run(command, cwd=self.root, env=environ, stdout=file, stderr=subprocess.STDOUT, check=False)
        if not report.exists():
            raise VersionsError(f"pytest did not come to its end: read {log}.")
        outcomes: dict[str, str] = {}
        for case in ElementTree.parse(report).iter("testcase"):
            test, kinds = f"{case.get('classname')}::{case.get('name')}", {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            outcomes[test] = "failed" if outcomes.get(test) == "failed" else outcome  # an error of a fixture's end, too
        return outcomes


def read_result(path: Path, fingerprint: str) -> Result | None:
    """Return the result that a file has, if it is of the same environment, files and arguments."""
    if not path.exists():
        return None
    result = Result(**json.loads(path.read_bytes()))
    return result if result.fingerprint == fingerprint else None


def table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown table; a package that is not installed is a dash."""
    head = ("versions", "Python", *COLUMNS, "passed", "failed", "skipped")
    rows = [
        (result.versions, result.python, *(result.packages.get(name, "–") for name in COLUMNS),
         result.passed, len(result.failures), result.skipped)
        for result in results
    ]  # fmt: skip
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in (head, ("---",) * len(head), *rows))


def write_table(page: Path, text: str) -> None:
    """Replace the table between the two comments of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise VersionsError(f"{page} has no place for the table. Add the lines `{BEGIN}` and `{END}`.")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; what follows `--` goes to pytest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", nargs="+", default=["3.11", "3.12", "3.13"], help="versions or paths of Python")
    parser.add_argument("--versions", nargs="+", default=["lowest", "highest"], choices=VERSIONS, metavar="WHICH")
    parser.add_argument("--folder", type=Path, default=Path("build/versions"), help="where the environments lie")
    parser.add_argument("--page", type=Path, help="a page to write the table into")
    parser.add_argument("--keep", action="store_true", help="keep the virtual environments")
    location = [*arguments, "--"].index("--")
    options = parser.parse_args(arguments[:location])
    options.tests = (*arguments[location + 1 :],) or TESTS
    return options


def collect_results(options: argparse.Namespace, root: Path) -> Iterator[Result | VersionsError]:
    """Yield the result of each environment, or why there is none; the others are still made."""
    uv = shutil.which("uv")
    if uv is None:
        raise VersionsError("The program `uv` is not installed. Install it with: pip install uv")
    folder = options.folder.resolve()
    wheel, files = build_wheel(uv, root, folder), digest_files(root)
    for python in options.python:
        for versions in options.versions:
            name = f"{Path(python).name}-{versions}"
            environment = Environment(uv, root, folder / name, python, versions)
            try:
                yield make_result(environment, wheel, files, options)
            except VersionsError as error:
                yield VersionsError(f"{name}: {error}")


def make_result(environment: Environment, wheel: Path, files: str, options: argparse.Namespace) -> Result:
    """Return the result of an environment: the stored one, or that of the tests in it."""
    packages = environment.resolve()
    facts = json.dumps([files, packages, options.tests])
    fingerprint = hashlib.sha256(facts.encode()).hexdigest()
    path = environment.folder / "result.json"
    result = read_result(path, fingerprint)
    if result is None:
        print(f"{environment.folder.name}: install and test", file=sys.stderr, flush=True)
        environment.install(wheel)
        result = environment.test(options.tests, packages, fingerprint)
        path.write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
    if not options.keep:
        shutil.rmtree(environment.folder / "venv", ignore_errors=True)
    return result


def main(arguments: Sequence[str]) -> int:
    """Make each environment, run its tests, print the table and return the exit status."""
    options = parse_arguments(arguments)
    results, messages = [], []
    try:
        for outcome in collect_results(options, Path.cwd()):
            if isinstance(outcome, Result):
                results.append(outcome)
                messages += [f"{outcome.python}-{outcome.versions}: {name} failed" for name in outcome.failures]
            else:
                messages.append(f"error: {outcome}")
        print(table(results))
        if options.page:
            write_table(options.page, table(results))
    except VersionsError as error:
        messages.append(f"error: {error}")
    print("\n".join(messages), file=sys.stderr)
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
