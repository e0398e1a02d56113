"""How the model that a URL names gets into a worker: a folder of the node, a download, a claim.

Pure: one URL in, a plan or a refusal out, for any text. Refused is whatever would give a pod that
cannot start or a MODEL_URL where no file is. Messages never quote user names, passwords or queries.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sedna_render import go_url, names

HOST_PATH_PREFIX = "/home/data"
DOWNLOAD_PREFIX = "/downloads"
CLAIM_PREFIX = "/pvc"


class Caution(NamedTuple):
    """A warning about a URL that is used nevertheless."""

    rule: str
    message: str
    remedy: str


class HostPathMount(NamedTuple):
    """Mount the node's folder (as written, it ends in '/') at mount_path."""

    folder: str
    mount_path: str
    model_url: str
    warnings: tuple[Caution, ...] = ()


class Download(NamedTuple):
    """Let the initializer download url into folder (ends in '/'), which lies under /downloads."""

    url: str
    scheme: str
    folder: str
    model_url: str
    warnings: tuple[Caution, ...] = ()


class ClaimMount(NamedTuple):
    """Mount the PersistentVolumeClaim at mount_path; path is the model's inside the claim."""

    claim: str
    path: str
    mount_path: str
    model_url: str
    warnings: tuple[Caution, ...] = ()


class NoMount(NamedTuple):
    """Mount nothing: the worker gets the URL as it is written."""

    model_url: str
    warnings: tuple[Caution, ...] = ()


class Refused(NamedTuple):
    """The URL cannot work; the message is to be read after the name of the field."""

    rule: str
    message: str
    remedy: str


Plan = HostPathMount | Download | ClaimMount | NoMount | Refused

_UNPARSEABLE = "model-url-unparseable"
_SCHEME = "model-url-scheme"
_ESCAPES = "model-url-escapes"
_RELATIVE = "model-url-relative"
_ROOT = "model-url-root"
_ARCHIVE = "model-archive"
_TRAILING_SLASH = "model-url-trailing-slash"
_QUERY = "model-url-query"
_SECRET = "secret-value-in-git"

#: What most Models of a fleet have: nothing in it is read in two ways, so Go's parser need not be asked.
_PLAIN_HOST_PATH = re.compile(r"(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*){2,}")

_FORMS = (
    "write /folder/file for a folder of the node, or s3://bucket/key, http(s)://host/path or pvc://claim/path; "
    'with the annotation render.sedna.io/model-mount: "none" any text is passed on as it is'
)

#: What the initializer unpacks and then deletes (Python's mimetypes: x-tar and zip).
_UNPACKED = (
    *(".tar", ".tgz", ".taz", ".tz", ".tbz2", ".txz", ".zip"),
    *(".tar.gz", ".tar.bz2", ".tar.xz", ".tar.z", ".tar.br"),
)
#: Over HTTP it also unzips these, and then takes what comes out for a tar.
_UNZIPPED = (".gz", ".svgz")

# Text, compiled by `re` when first used: most runs never need these, and compiling is start-up time.
_PERCENT = r"%[0-9A-Fa-f]{2}"
_CONTROL = r"[\x00-\x1f\x7f]"
_CREDENTIAL_IN_QUERY = (
    r"(?i)(?:^|[&;])[^=&;]*(?:sig|signature|token|key|secret|password|passwd|credential|auth)[^=&;]*="
)


def plan(url: str, *, mount: bool = True) -> Plan:
    """What to do for a Model's spec.url; mount is False with ``render.sedna.io/model-mount: none``."""
    if mount and _PLAIN_HOST_PATH.fullmatch(url):
        folder = url[: url.rindex("/") + 1]
        return HostPathMount(folder, f"{HOST_PATH_PREFIX}{folder[:-1]}", f"{HOST_PATH_PREFIX}{url}")
    return _plan(url, mount=mount)


def _plan(url: str, *, mount: bool) -> Plan:
    """The same for any URL at all, by Go's rules."""
    if not url:
        return Refused("missing-field", "is empty", _FORMS)
    if character := _unusable(url):
        return Refused(_UNPARSEABLE, f"has the character {character!a}", "delete that character")
    parsed = go_url.parse(url)
    if not mount:
        return NoMount(url, _secrets(parsed) if isinstance(parsed, go_url.GoURL) else ())
    if isinstance(parsed, go_url.GoURLError):
        return _unparseable(url, parsed)
    if parsed.opaque:
        return _opaque(url, parsed)
    if _unusable(parsed.host + parsed.path):
        message = "has percent-escapes that stand for control characters or for bytes that are no UTF-8"
        return Refused(_UNPARSEABLE, message, "use a name without such characters")
    if ".." in parsed.path.split("/") or parsed.host in (".", ".."):
        return Refused(
            _ESCAPES,
            "has a step upward ('..'), which may lead out of the folder that is mounted",
            "write the path that is meant, without '..'",
        )
    return _BY_SCHEME.get(parsed.scheme, _other_scheme)(url, parsed)


def _unusable(text: str) -> str:
    """The first character that no path, URL or environment can hold: a control, half a UTF-16 pair."""
    if text.isprintable():
        return ""
    if found := re.search(_CONTROL, text):
        return found.group()
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""


def _host_path(url: str, parsed: go_url.GoURL) -> Plan:
    """Sedna mounts the raw text but tells the worker the decoded path: both must be the same."""
    if refused := _host_path_refusal(url, parsed):
        return refused
    model_url = go_url.clean(f"{HOST_PATH_PREFIX}{url}")
    return HostPathMount(url[: url.rindex("/") + 1], model_url.rpartition("/")[0], model_url)


def _host_path_refusal(url: str, parsed: go_url.GoURL) -> Refused | None:
    if not url.startswith("/"):
        return _relative(url)
    if "?" in url or "#" in url:
        message = "has a '?' or '#', which ends the path for the worker but not for the node"
        return Refused(_QUERY, message, "rename the folder or file, and write its path without it")
    if "%" in url:
        return _host_path_percent(parsed)
    if url.startswith("//"):
        message = "begins with '//', which makes the first name that of a server, not of a folder"
        return Refused(_UNPARSEABLE, message, f"write {_shown('/' + url.lstrip('/'))}")
    clean = go_url.clean(url)
    if clean == "/":
        return Refused(
            _ROOT, "is the node's root folder", "name the model's own file or folder, two levels down"
        )
    if url.endswith(("/", "/.")):
        message = "ends in a slash, so the worker would look for the folder inside itself"
        return Refused(_TRAILING_SLASH, message, f"write {_shown(clean)}")
    if clean.count("/") == 1:
        message = "lies directly in '/', so the node's whole root folder would be mounted"
        return Refused(_ROOT, message, "move the model into a folder, such as /models/" + clean[1:81])
    return None


def _host_path_percent(parsed: go_url.GoURL) -> Refused:
    message = (
        "has percent-escapes: the node would mount them as they are, the worker look for the decoded name"
    )
    if "%" in parsed.path or "?" in parsed.path or "#" in parsed.path:
        return Refused(_ESCAPES, message, "rename the folder or file: a path with %, ? or # cannot be used")
    return Refused(_ESCAPES, message, f"write the plain name: {_shown(parsed.path)}")


def _relative(url: str) -> Refused:
    if url.lstrip().startswith("/"):
        return Refused(_RELATIVE, "begins with a blank", f"write {_shown(url.strip())}")
    return Refused(_RELATIVE, "is a relative path, and a node has no folder that it is relative to", _FORMS)


def _download(url: str, parsed: go_url.GoURL) -> Plan:
    """Folder and file as the initializer makes them: it decodes nothing, so the last name stays raw."""
    is_s3 = parsed.scheme == "s3"
    kind, form = ("bucket", "s3://bucket/key") if is_s3 else ("server", f"{parsed.scheme}://host/path")
    if not parsed.host:
        return Refused(_UNPARSEABLE, f"names no {kind}", f"write {form}")
    if not parsed.path.strip("/"):
        message = f"names a whole {kind} and no file of it: nothing would lie where the worker looks"
        return Refused(_ROOT, message, f"write {form}")
    raw_folder, _, name = parsed.raw_path.rstrip("/").rpartition("/")
    if not is_s3:
        name = name.partition(";")[0]  # the initializer takes the rest for parameters of the path
    refused = _s3_refusal(url, parsed) if is_s3 else _http_refusal(parsed, name)
    if refused := refused or _archive(name, over_http=not is_s3):
        return refused
    folder = go_url.clean(f"{DOWNLOAD_PREFIX}/{parsed.host}{go_url.unescaped(raw_folder)}")
    argument = parsed.scheme + url[len(parsed.scheme) :]  # the initializer knows lower-case schemes only
    cautions = _s3_cautions(parsed) if is_s3 else _secrets(parsed)
    return Download(argument, parsed.scheme, _with_slash(folder), f"{_with_slash(folder)}{name}", cautions)


def _s3_refusal(url: str, parsed: go_url.GoURL) -> Refused | None:
    if parsed.userinfo:
        message = "has a user name, which the initializer takes for a part of the bucket's name"
        remedy = "put the keys into a Secret and name it in the Model's spec.credentialName"
        return Refused(_UNPARSEABLE, message, remedy)
    if ":" in parsed.host:
        message = "has a port, which the initializer takes for a part of the bucket's name"
        remedy = "write s3://bucket/key, and the server in the annotation render.sedna.io/s3-endpoint"
        return Refused(_UNPARSEABLE, message, remedy)
    if "?" in url or "#" in url:
        message = "has a '?' or '#', which is a part of the object's key for the initializer, but not for the worker"
        remedy = "rename the object; a signed URL is written with https://"
        return Refused(_QUERY, message, remedy)
    if not {"", "."}.isdisjoint(parsed.path.strip("/").split("/")):
        message = "has '//' or '/./' inside the key, and the initializer would put the files elsewhere"
        return Refused(_UNPARSEABLE, message, "write the key with single slashes")
    return None


def _http_refusal(parsed: go_url.GoURL, name: str) -> Refused | None:
    if parsed.path.endswith("/"):
        message = "ends in a slash, so it names no file that the initializer could download"
        return Refused(
            _TRAILING_SLASH, message, "write the URL of one file; for a folder use s3:// or pvc://"
        )
    if name in ("", "."):
        return Refused(
            _ROOT, "names no file that the initializer could download", "write the URL of one file"
        )
    return None


def _archive(name: str, *, over_http: bool) -> Refused | None:
    lower = name.lower()
    if lower.endswith(_UNPACKED):
        message = "is an archive: the initializer unpacks and deletes it, and MODEL_URL would name a file that is gone"
        remedy = (
            "store the model unpacked, and write the URL of its file (or of its folder, with s3:// or pvc://)"
        )
        return Refused(_ARCHIVE, message, remedy)
    if over_http and lower.endswith(_UNZIPPED):
        message = "is compressed: over http the initializer unzips it, takes the result for a tar, and fails"
        return Refused(_ARCHIVE, message, "store the model uncompressed, or fetch it with s3://")
    return None


def _s3_cautions(parsed: go_url.GoURL) -> tuple[Caution, ...]:
    cautions = []
    if re.search(_PERCENT, parsed.raw_path):
        message = "has percent-escapes, and the initializer asks for an object with just these characters in its key"
        cautions.append(
            Caution(_ESCAPES, message, "write the key plainly (a blank as a blank), if that is meant")
        )
    if parsed.path.endswith("/"):
        message = "is a folder: initializers up to v0.3.0 put its files one level higher than MODEL_URL says"
        remedy = "name one file, or set storageInitializerImage to a newer one"
        cautions.append(Caution(_TRAILING_SLASH, message, remedy))
    return tuple(cautions)


def _secrets(parsed: go_url.GoURL) -> tuple[Caution, ...]:
    remedy = "take it out of git: make the file readable without it, or use s3:// with spec.credentialName"
    cautions = []
    if parsed.userinfo:
        message = (
            "has a user name or password in it, which everybody who reads the repository or the pod can use"
        )
        cautions.append(Caution(_SECRET, message, remedy))
    if re.search(_CREDENTIAL_IN_QUERY, parsed.raw_query):
        message = "looks signed: everybody who reads the repository or the pod can use it, until it expires"
        cautions.append(Caution(_SECRET, message, remedy))
    elif parsed.raw_query:
        message = (
            "has a query; if that is a signature or token, everybody who reads the repository can use it"
        )
        cautions.append(Caution(_SECRET, message, f"{remedy}; nothing to do if it is no secret"))
    return tuple(cautions)


def _claim(url: str, parsed: go_url.GoURL) -> Plan:
    """Our own scheme: path and MODEL_URL are both decoded, so no spelling can divide them."""
    form = "write pvc://claim/path"
    if parsed.userinfo or not parsed.host:
        return Refused(_UNPARSEABLE, "names no claim" if not parsed.host else "has a user name", form)
    if problem := names.dns_1123_subdomain(parsed.host):
        return Refused("invalid-name", f"names a claim that cannot exist: its name {problem}", form)
    if "?" in url or "#" in url:
        return Refused(_QUERY, "has a query or fragment, which a file in a claim cannot have", form)
    mount_path = f"{CLAIM_PREFIX}/{parsed.host}"
    model_url = go_url.clean(mount_path + parsed.path)
    return ClaimMount(parsed.host, model_url[len(mount_path) + 1 :], mount_path, model_url)


def _unparseable(url: str, error: go_url.GoURLError) -> Refused:
    remedy = _FORMS
    if url.startswith("/") and "%" in url:
        remedy = "rename the folder or file: a path of a node with a '%' cannot be used"
    return Refused(_UNPARSEABLE, f"{error.message} (Sedna's controller crashes on it)", remedy)


def _opaque(url: str, parsed: go_url.GoURL) -> Refused:
    if parsed.scheme in _BY_SCHEME:
        return Refused(_UNPARSEABLE, f"has no '//' after '{parsed.scheme}:'", _FORMS)
    return _other_scheme(url, parsed)


def _other_scheme(_url: str, parsed: go_url.GoURL) -> Refused:
    message = (
        f"has the scheme {_shown(parsed.scheme)}, which neither Sedna nor this program can mount or download"
    )
    if parsed.scheme == "file" and not parsed.opaque:
        path = go_url.clean(f"/{parsed.host}{parsed.path}")
        return Refused(_SCHEME, message, f"for a folder of the node write the path alone: {_shown(path)}")
    if len(parsed.scheme) == 1:
        return Refused(_SCHEME, message, f"if this is a path of Windows: {_FORMS}")
    if parsed.opaque[:1].isdigit():
        host = _shown(parsed.scheme)
        return Refused(
            _SCHEME, message, f"if {host} is a server, write http:// before it; otherwise {_FORMS}"
        )
    return Refused(_SCHEME, message, _INSTEAD_OF.get(parsed.scheme, _FORMS))


_S3_INSTEAD = (
    "reach the store through its S3 interface: s3://bucket/key, "
    "and the server in the Model's annotation render.sedna.io/s3-endpoint"
)
_HUB_INSTEAD = (
    'for an id that the worker itself resolves, annotate the Model with render.sedna.io/model-mount: "none"'
)
_SERVER_INSTEAD = "serve the file over http(s) or S3, or put it into a claim (pvc://claim/path)"

_INSTEAD_OF = {
    **dict.fromkeys(("s3a", "s3n", "obs", "oss", "cos", "gs", "minio"), _S3_INSTEAD),
    **dict.fromkeys(("hf", "huggingface", "modelscope", "ms", "ollama"), _HUB_INSTEAD),
    **dict.fromkeys(("hdfs", "ftp", "ftps", "sftp", "nfs", "webhdfs", "wasb", "abfs"), _SERVER_INSTEAD),
}

_BY_SCHEME = {"": _host_path, "s3": _download, "http": _download, "https": _download, "pvc": _claim}


def _with_slash(folder: str) -> str:
    return folder if folder.endswith("/") else f"{folder}/"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")  # noqa: PLR2004 - what fits on a line
