"""Writes the logs in this folder with inspect_ai 0.3.285: `pip install inspect_ai pillow && python write.py`.

Two models answer one multiple-choice question about each of 120 pictures, and a short task has three epochs, a scorer
with several values, a numeric scorer, and a sample that ends in an error. Events and tracebacks are left out, so that
the files are small.
"""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import inspect_ai
from inspect_ai import Epochs, Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, choice, mean, scorer, stderr
from inspect_ai.solver import generate, multiple_choice, solver
from PIL import Image, ImageDraw

HERE = Path(__file__).parent
SHAPES = ("circle", "square", "triangle")
COLOURS = ("navy", "gold")


def draw(number, folder):
    """Draw one picture of a shape."""
    image = Image.new("RGB", (24, 24), "white")
    pen, index = ImageDraw.Draw(image), number % 7
    box, colour = (index, index, index + 14, index + 14), COLOURS[number % 2]
    shape = SHAPES[number % 3]
    if shape == "circle":
        pen.ellipse(box, fill=colour)
    elif shape == "square":
        pen.rectangle(box, fill=colour)
    else:
        pen.polygon([(box[0], box[3]), (box[2], box[3]), (index + 7, box[1])], fill=colour)
    image.putpixel((23, number % 24), (number, 0, 0))
    path = folder / f"{number:03d}.png"
    image.save(path)
    return str(path)


def shapes(folder, count):
    """The samples: a picture, a question and three options."""
    return MemoryDataset(
        [
            Sample(
                id=f"shape-{number}",
                input=[
                    ChatMessageUser(
                        content=[ContentText(text="Which shape is it?"), ContentImage(image=draw(number, folder))]
                    )
                ],
                choices=[*SHAPES],
                target="ABC"[number % 3],
                metadata={"colour": COLOURS[number % 2], "number": number},
            )
            for number in range(count)
        ],
        name="shapes",
    )


def answer(share, salt):
    """A model that is right about this share of pictures; what it says depends on the picture and `salt` alone."""

    def respond(messages, tools, tool_choice, config):
        parts = [part for message in messages for part in message.content if not isinstance(message.content, str)]
        image = next(part.image for part in parts if part.type == "image")
        digest = sha256(f"{salt}{image}".encode()).digest()
        letter = "ABC"[SHAPES.index(KNOWN[image])]
        said = letter if digest[0] / 256 < share else "ABC"[("ABC".index(letter) + 1) % 3]
        text = "I cannot tell." if digest[1] < 24 else f"ANSWER: {said}"
        output = ModelOutput.from_content("mockllm", text)
        output.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
        return output

    return respond


KNOWN = {}


@scorer(metrics={"length": [mean(), stderr()], "correct": [accuracy()]})
def several():
    """A scorer with two values."""

    async def score(state, target):
        said = state.output.completion
        return Score(value={"length": float(len(said)), "correct": "C" if said == f"ANSWER: {target.text}" else "I"})

    return score


@scorer(metrics=[mean(), stderr()])
def grade():
    """A numeric scorer."""

    async def score(state, target):
        return Score(value=len(state.output.completion) / 16, explanation="the length of the answer")

    return score


@solver
def failing():
    """Fail for one sample."""

    async def solve(state, generate):
        if state.sample_id == "shape-5":
            raise ValueError("the picture is damaged")
        return state

    return solve


def main():
    """Write the logs."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        data = shapes(folder, 120)
        for path in sorted(folder.glob("*.png")):  # the model sees a picture as a data address
            KNOWN["data:image/png;base64," + b64encode(path.read_bytes()).decode()] = SHAPES[int(path.stem) % 3]
        for model, share in (("before", 0.9), ("after", 0.7)):
            task = Task(name="shapes", dataset=data, solver=[multiple_choice()], scorer=choice())
            run(task, model, share, HERE / f"{model}.eval", salt="same")
        short = Task(
            name="shapes_short",
            dataset=shapes(folder, 12),
            solver=[failing(), generate()],
            scorer=[several(), grade()],
            epochs=Epochs(3, ["mean", "at_least_2"]),
        )
        run(short, "before", 0.6, HERE / "epochs.json", salt="e", fail_on_error=False)


def run(task, model, share, path, salt, **options):
    """Evaluate a task, and keep its log under a name of its own."""
    chosen = get_model(f"mockllm/{model}", custom_outputs=answer(share, salt))
    with TemporaryDirectory() as logs:
        kind = path.suffix.removeprefix(".")
        (log,) = inspect_ai.eval(
            task, model=chosen, log_dir=logs, log_format=kind, display="none", max_samples=1, log_realtime=False,
            **options,
        )  # fmt: skip
        (file,) = Path(logs).glob(f"*.{kind}")
        whole = read_eval_log(str(file))
        for sample in whole.samples:
            sample.events = []
            if sample.error:
                sample.error.traceback = sample.error.traceback_ansi = ""
            sample.error_retries = None
        whole.eval.revision = None
        write_eval_log(whole, str(path))
        print(path.name, log.status, log.results.scores)


if __name__ == "__main__":
    main()
