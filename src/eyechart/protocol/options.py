"""Options that protocols declare. They are set with `--eye-set PROTOCOL.OPTION=VALUE`, and recorded with every case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eyechart.errors import SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import split_outside_brackets

SET = "--eye-set"
OptionValues = Mapping[str, str]  # the value of every option of a protocol
RequestedValues = Mapping[str, tuple[str, ...]]  # the requested values of each option, one case per combination


@dataclass(frozen=True)
class Option:
    """An option with its name, help text, default, and valid values: `known`, or any value where it is empty.

    With `least` the values are whole numbers from there up, with `share` numbers from 0 to 1; a default that is no
    number is a value, too. `check` gets the value and the data root before anything runs, and raises an EyechartError
    for a value that cannot be used.
    """

    name: str
    help: str
    default: str
    known: tuple[str, ...] = ()
    least: int | None = None
    share: bool = False
    check: Callable[[str, str | None], object] | None = field(default=None, repr=False)

    def parse_values(self, text: str, flag: str) -> tuple[str, ...]:
        """Return the values in a comma-separated list; `all` is every known one. `flag` names the option in errors.

        Raises SpecError for a value that the option does not take.

        >>> epochs = Option("epochs", "number of repetitions", "1", least=1)
        >>> epochs.parse_values("1,010", "--eye-set=closed_world.epochs")
        ('1', '10')
        """
        values = self.known if text == "all" and self.known else tuple(split_outside_brackets(text))
        for value in values:
            self.validate(value, flag)
        return tuple(dict.fromkeys(map(self.normalise, values)))

    def normalise(self, value: str) -> str:
        """Return the canonical spelling of a value: equal numbers have one spelling.

        >>> Option("images", "images in a request", "1", least=1).normalise("010")
        '10'
        """
        if value == self.default:
            return value
        return str(int(value)) if self.least is not None else str(float(value)) if self.share else value

    def validate(self, value: str, flag: str) -> None:
        """Raise SpecError for a value that the option does not take.

        >>> Option("order", "order of images", "random", ("random", "same_class")).validate("random", "order")
        """
        if value == self.default:
            return
        if self.least is not None and not (value.isdecimal() and int(value) >= self.least):
            word = "" if self.default.isdecimal() else f" and {self.default}"
            raise SpecError(f"{flag} takes whole numbers from {self.least} up{word}. Got '{value}' instead.")
        if self.share and not is_fraction(value):
            raise SpecError(f"{flag} takes numbers from 0 to 1. Got '{value}' instead.")
        if not value or (self.known and value not in self.known):
            listed = f" It takes {', '.join(self.known)}." if self.known else " Give a value."
            raise SpecError(f"{flag} does not know '{value}'{did_you_mean(value, self.known)}{listed}")


def is_fraction(value: str) -> bool:
    """Return whether a text is a number from 0 to 1.

    >>> is_fraction("0.5"), is_fraction("2"), is_fraction("half")
    (True, False, False)
    """
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


def flag(protocol: str, option: str, value: str | None = None) -> str:
    """Return the command-line argument that sets an option.

    >>> flag("closed_world", "images_per_request", "10")
    '--eye-set=closed_world.images_per_request=10'
    """
    return f"{SET}={protocol}.{option}" + ("" if value is None else f"={value}")


@dataclass(frozen=True)
class OptionSetting:
    """One `--eye-set`: the protocol, the option and the list of values."""

    protocol: str
    option: str
    values: str

    @classmethod
    def parse(cls, text: str) -> "OptionSetting":
        """Parse PROTOCOL.OPTION=VALUE[,VALUE…]. Raises SpecError for another text.

        >>> OptionSetting.parse("closed_world.images=1,10")
        OptionSetting(protocol='closed_world', option='images', values='1,10')
        """
        name, equals, values = text.partition("=")
        protocol, dot, option = name.strip().partition(".")
        if not (equals and dot and protocol and option):
            raise SpecError(
                f"{SET} '{text}' cannot be read. Expected PROTOCOL.OPTION=VALUE, such as closed_world.epochs=1,10."
            )
        return cls(protocol, option.replace("-", "_"), values)


def _check_prompt(value: str, _: str | None) -> None:
    """Raise DataError for a prompt that is neither packaged nor a file.

    >>> _check_prompt("own", None)
    """
    from eyechart.protocol.prompts import get_prompt

    if value != OWN:
        get_prompt(value)


OWN = "own"
PROMPT = Option(
    "prompt", "a packaged prompt or a toml file that replaces the protocol's own prompt", OWN, check=_check_prompt
)
AUTO = "auto"
THINKING_TOKENS = 8192
MAX_TOKENS = Option(
    "max_tokens",
    "most tokens of an answer, with its thinking; auto: as many as the answer to the prompt needs, and "
    f"{THINKING_TOKENS} more for a model that thinks",
    AUTO,
    least=1,
)


def parser_option(*scorers: str) -> Option:
    """Return the option that chooses how text becomes an answer.

    Args:
        scorers: The names of published scorers that the protocol has beside its own two parsers.

    >>> parser_option("authors").known
    ('lenient', 'strict', 'authors')
    """
    own = "lenient (as a person reads it), strict (the exact form that the prompt asks for)"
    published = f", {' or '.join(scorers)} (as the scorer of that publication)" if scorers else ""
    return Option("parser", f"how text becomes an answer: {own}{published}", "lenient", ("lenient", "strict", *scorers))
