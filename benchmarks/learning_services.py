# ruff: noqa: E501 (programs in other languages stand in lines as those are written)
"""Two runs of servers for services that need an account: `python -m benchmarks.learning services`.

The real packages from npm and PyPI run against a stand-in of their service on loopback (benchmarks/stand_in.py), but for
Playwright, which drives a real Chromium through generated pages, and Postgres, which has a real database.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.learning_servers import PLACE, record_session
from benchmarks.stand_in import StandIn, serve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from benchmarks.learning_servers import Ask

NPM: Final = (
    "@playwright/mcp", "@modelcontextprotocol/server-slack", "@notionhq/notion-mcp-server", "@sentry/mcp-server",
    "kubernetes-mcp-server", "@modelcontextprotocol/server-postgres", "@zereight/mcp-gitlab",
    "@modelcontextprotocol/server-github",
)  # fmt: skip
PYPI: Final = ("mcp-atlassian", "mcp-grafana")
# It needs a newer Python, an older SDK, and a parser of SQL of which only later versions are left in the package index.
POSTGRES: Final = ("postgres-mcp", "mcp<2")
POSTGRES_PARSER: Final = "pglast==7.20"
SESSIONS: Final = 6
# Sends what a Node program asks of any other host to the stand-in.
REDIRECT: Final = """\
const http = require("http"), https = require("https"), port = Number(process.env.STAND_IN_PORT);
https.request = (first, second, third) => {
  const url = typeof first === "string" ? new URL(first) : first, more = typeof second === "object" ? second : {};
  const path = url.path === undefined ? url.pathname + (url.search || "") : url.path;
  const method = more.method || url.method || "GET", headers = { ...(more.headers || url.headers || {}) };
  return http.request({ method, headers, path, host: "127.0.0.1", port }, typeof second === "function" ? second : third);
};
https.get = (...given) => https.request(...given).end();
const fetched = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const { url, method, headers } = new Request(input, init), to = new URL(url);
  return fetched(`http://127.0.0.1:${port}${to.pathname}${to.search}`, { ...(init || {}), method, headers, body: init && init.body });
};
"""


def install() -> None:
    """Install the servers, once."""
    if (PLACE / "services").exists():
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "i", "--no-audit", "--no-fund", *NPM], cwd=PLACE, check=True)
    for name in PYPI:
        subprocess.run([sys.executable, "-m", "venv", str(PLACE / f"venv-{name}")], check=True)
        subprocess.run([str(PLACE / f"venv-{name}" / "bin/pip"), "install", "-q", name], check=True)
    newer = shutil.which("python3.12") or shutil.which("python3.13") or sys.executable
    (PLACE / "overrides.txt").write_text(POSTGRES_PARSER)
    environment = PLACE / "venv-postgres-mcp"
    subprocess.run(["uv", "venv", "--quiet", "--clear", "--python", newer, str(environment)], check=True)
    options = ["--quiet", "--python", str(environment), "--overrides", str(PLACE / "overrides.txt")]
    subprocess.run(["uv", "pip", "install", *options, *POSTGRES], check=True)
    (PLACE / "services").touch()


def record(run: int, folder: Path) -> Path:
    """Record one run, and return the folder of its recordings."""
    install()
    data = StandIn(run)
    work, traffic = folder / f"services{run}", folder / f"services-traffic{run}"
    for place in (work, traffic):
        shutil.rmtree(place, ignore_errors=True)
    (work / "site").mkdir(parents=True)
    _write_site(data, work / "site")
    with serve(data) as api, _site(work / "site") as site, postgres(data, work) as database:
        threading.Thread(target=api.serve_forever, daemon=True).start()
        listed = work / "servers.json"
        listed.write_text(json.dumps(servers(work, api.server_port, database)))
        for session in range(SESSIONS):
            asyncio.run(record_session(listed, traffic, partial(_work, data, session, site)))
        print(*sorted(set(api.missing)), sep="\n")  # type: ignore[attr-defined]  # see serve()
        api.shutdown()
    return traffic


def servers(work: Path, port: int, database: str) -> dict[str, Any]:
    """Return the servers of a run, as a client lists them."""
    api = f"http://127.0.0.1:{port}"
    redirect, kubeconfig = work / "redirect.cjs", work / "kubeconfig"
    redirect.write_text(REDIRECT)
    context = {"name": "stand-in", "context": {"cluster": "stand-in", "user": "nobody"}}
    kubeconfig.write_text(
        json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "stand-in", "contexts": [context],
            "clusters": [{"name": "stand-in", "cluster": {"server": api}}], "users": [{"name": "nobody", "user": {}}],
        })
    )  # fmt: skip
    node = {"NODE_OPTIONS": f"--require {redirect}", "STAND_IN_PORT": str(port)}
    token = "not-a-real-token"  # noqa: S105 (no service reads it)
    browser = ["--headless", "--no-sandbox", "--isolated", "--executable-path", shutil.which("chromium") or "chromium"]
    of_node: dict[str, tuple[str, list[str], dict[str, str]]] = {
        "playwright": ("playwright-mcp", browser, {}),
        "slack": ("mcp-server-slack", [], {**node, "SLACK_BOT_TOKEN": token, "SLACK_TEAM_ID": "T024BE7LD"}),
        "notion": ("notion-mcp-server", [], {**node, "NOTION_TOKEN": token}),
        "sentry": ("sentry-mcp", [f"--access-token={token}"], node),
        "kubernetes": ("kubernetes-mcp-server", ["--kubeconfig", str(kubeconfig)], {}),
        "postgres": ("mcp-server-postgres", [database], {}),
        "gitlab": ("mcp-gitlab", [], {"GITLAB_PERSONAL_ACCESS_TOKEN": token, "GITLAB_API_URL": f"{api}/api/v4"}),
        "github": ("mcp-server-github", [], {**node, "GITHUB_PERSONAL_ACCESS_TOKEN": token}),
    }
    listed = {
        name: {"command": "node", "args": [str(PLACE / "node_modules" / ".bin" / program), *options], "env": env}
        for name, (program, options, env) in of_node.items()
    }
    of_python = {
        "atlassian": {"JIRA_URL": api, "JIRA_PERSONAL_TOKEN": token},
        "grafana": {"GRAFANA_URL": api, "GRAFANA_SERVICE_ACCOUNT_TOKEN": token},
    }
    restricted = ["--access-mode=restricted", database]
    listed["postgres-mcp"] = {"command": str(PLACE / "venv-postgres-mcp/bin/postgres-mcp"), "args": restricted}
    for name, env in of_python.items():
        program = PLACE / f"venv-mcp-{name}" / "bin" / f"mcp-{name}"
        listed[name] = {"command": str(program), "args": [], "env": env}
    return {"mcpServers": listed}


def _write_site(data: StandIn, site: Path) -> None:
    """Write a shop: a page that lists products with links, and a page for each of them."""
    for session in range(SESSIONS):
        rows = []
        for at in range(250):
            name, price = f"{data.noun().title()} {data.hex(4)}", data.chance.randint(5, 900)
            page = f"product-{session}-{at}.html"
            rows.append(f"<tr><td><a href='{page}'>{name}</a></td><td>{price} EUR</td><td>{data.title()}</td></tr>")
            facts = "".join(f"<li>{data.prose(1)}</li>" for _ in range(8))
            (site / page).write_text(
                f"<!doctype html><title>{name}</title><nav><a href='index{session}.html'>Products</a> <a href='/about'>About"
                f"</a> <a href='/help'>Help</a></nav><main><h1>{name}</h1><p>Order number {data.hex(8)}</p><p>{price} EUR"
                f"</p><ul>{facts}</ul><button>Add to basket</button></main><footer>All prices include tax.</footer>"
            )
        (site / f"index{session}.html").write_text(
            "<!doctype html><title>Products</title><nav><a href='/'>Home</a> <a href='/about'>About</a> <a href='/help'>Help"
            f"</a></nav><main><h1>Products</h1><table><tr><th>Name<th>Price<th>Note</tr>{''.join(rows)}</table></main>"
        )


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def _site(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def postgres(data: StandIn, work: Path) -> Iterator[str]:
    """Start a Postgres of its own on a socket, with the tables of a shop."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    place = Path(tempfile.mkdtemp(prefix="shaping-postgres-"))
    # It refuses to run as root.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(place, "postgres")
    run = partial(subprocess.run, check=True, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run([*user, str(programs / "initdb"), "-D", str(place / "data"), "-A", "trust", "-U", "shop"])
    options = f"-k {place} -c listen_addresses=''"
    control = [*user, str(programs / "pg_ctl"), "-D", str(place / "data"), "-w"]
    run([*control, "-o", options, "-l", str(place / "log"), "start"])
    try:
        (work / "shop.sql").write_text(_tables(data))
        run(["psql", "-h", str(place), "-U", "shop", "-d", "postgres", "-f", str(work / "shop.sql")])
        yield f"postgresql://shop@localhost/postgres?host={place}"
    finally:
        run([*control, "-m", "immediate", "stop"])
        shutil.rmtree(place, ignore_errors=True)


def _tables(data: StandIn) -> str:
    rows = [
        f"({100 * data.run + at}, '{data.person()}', '{data.person()}@example.com', '{data.uuid()}', '{data.when()}', '{data.when()}', NULL,"
        f" '{data.chance.choice(('paid', 'open', 'late'))}', {data.chance.randint(100, 99_999)}, 'EUR', '{data.prose(2)}',"
        f' \'{{"source": "web", "etag": "{data.hex(32)}"}}\')'
        for at in range(200)
    ]
    columns = (
        "id int primary key, customer text, email text, external_id uuid, created_at timestamptz, updated_at timestamptz,"
        " deleted_at timestamptz, status text, cents int, currency text, note text, meta jsonb"
    )
    others = (
        "CREATE TABLE customers (id int primary key, name text not null, email text unique, created_at timestamptz default now());"
        "CREATE TABLE refunds (id int primary key, order_id int references orders(id), cents int not null, reason text);"
        "CREATE INDEX orders_by_customer ON orders (customer, created_at);"
    )
    return f"CREATE TABLE orders ({columns}); INSERT INTO orders VALUES {', '.join(rows)}; {others}"  # noqa: S608 (our own rows)


async def _work(data: StandIn, session: int, site: str, ask: Ask) -> None:
    """Do the jobs of one session: look around, and ask for more of what was found."""
    jobs: tuple[Callable[..., Awaitable[None]], ...] = (
        _github, _gitlab, _slack, _notion, _atlassian, _sentry, _kubernetes, _grafana, _database,
    )  # fmt: skip
    for job in jobs:
        await job(data, ask)
    await _browser(data, session, site, ask)


async def _github(data: StandIn, ask: Ask) -> None:
    repo = {"owner": data.owner, "repo": data.repo}
    issues = await ask("list_issues", **repo, server="github")
    await ask("get_issue", **repo, issue_number=_pick(data, r'"number": (\d+)', issues, int), server="github")
    pulls = await ask("list_pull_requests", **repo, server="github")
    number = _pick(data, r'"number": (\d+)', pulls, int)
    await ask("get_pull_request", **repo, pull_number=number, server="github")
    await ask("get_pull_request_files", **repo, pull_number=number, server="github")
    await ask("list_commits", **repo, server="github")
    await ask("search_issues", q=f"{data.noun()} repo:{data.owner}/{data.repo}", server="github")


async def _gitlab(data: StandIn, ask: Ask) -> None:
    listed = await ask("list_merge_requests", project_id="55", server="gitlab")
    await ask(
        "get_merge_request", project_id="55", merge_request_iid=_pick(data, r'"iid": ?"?(\d+)', listed), server="gitlab"
    )
    issues = await ask("list_issues", project_id="55", server="gitlab")
    await ask("get_issue", project_id="55", issue_iid=_pick(data, r'"iid": ?"?(\d+)', issues), server="gitlab")


async def _slack(data: StandIn, ask: Ask) -> None:
    channels = await ask("slack_list_channels")
    channel = _pick(data, r'"id": ?"(C0\w+)"', channels)
    history = await ask("slack_get_channel_history", channel_id=channel, limit=25)
    await ask("slack_get_thread_replies", channel_id=channel, thread_ts=_pick(data, r'"ts": ?"([\d.]+)"', history))
    users = await ask("slack_get_users")
    await ask("slack_get_user_profile", user_id=_pick(data, r'"id": ?"(U0\w+)"', users))


async def _notion(data: StandIn, ask: Ask) -> None:
    found = await ask("API-post-search", query=data.noun())
    page = _pick(data, r'"object": ?"page", ?"id": ?"([\w-]+)"', found)
    await ask("API-retrieve-a-page", page_id=page)
    await ask("API-get-block-children", block_id=page)
    await ask("API-query-data-source", data_source_id=f"ds{data.run}")


async def _atlassian(data: StandIn, ask: Ask) -> None:
    found = await ask("jira_search", jql=f"project = X AND text ~ {data.noun()}")
    await ask("jira_get_issue", issue_key=_pick(data, r'"key": ?"([A-Z]+-\d+)"', found))
    await ask("jira_get_all_projects")


async def _sentry(data: StandIn, ask: Ask) -> None:
    await ask("find_organizations")
    await ask("find_projects", organizationSlug=data.owner)
    found = await ask("search_issues", organizationSlug=data.owner, query="is:unresolved", server="sentry")
    await ask("get_sentry_resource", url=_pick(data, r"(https://[\w.-]+/issues/[\w-]+)", found))


async def _kubernetes(data: StandIn, ask: Ask) -> None:
    spaces = await ask("namespaces_list")
    space = _pick(data, r"(prod|staging)", spaces)
    pods = await ask("pods_list_in_namespace", namespace=space)
    name = _pick(data, r"(\w+-[0-9a-f]{9}-[0-9a-f]{5})", pods)
    await ask("pods_get", name=name, namespace=space)
    await ask("pods_log", name=name, namespace=space)


async def _grafana(data: StandIn, ask: Ask) -> None:
    found = await ask("search_dashboards", query="overview")
    await ask("get_dashboard_by_uid", uid=_pick(data, r'"uid": ?"([0-9a-f]{9})"', found))
    await ask("list_datasources")


async def _database(data: StandIn, ask: Ask) -> None:
    rows = await ask("query", sql="SELECT * FROM orders ORDER BY created_at DESC LIMIT 40")
    order = _pick(data, r'"id": (\d+)', rows)
    await ask("query", sql=f"SELECT * FROM orders WHERE id = {order}")  # noqa: S608 (a number of our own)
    schema = _pick(data, r"'schema_name': '(public)'", await ask("list_schemas"))
    table = _pick(data, r"'name': '(\w+)'", await ask("list_objects", schema_name=schema))
    await ask("get_object_details", schema_name=schema, object_name=table)
    rows = await ask("execute_sql", sql="SELECT * FROM orders ORDER BY cents DESC LIMIT 30")
    found = _pick(data, r"'external_id': UUID\('([\w-]+)'\)", rows)
    await ask("execute_sql", sql=f"SELECT * FROM orders WHERE external_id = '{found}'")  # noqa: S608 (our own)
    await ask(
        "explain_query", sql="SELECT * FROM orders JOIN refunds ON refunds.order_id = orders.id ORDER BY customer"
    )


async def _browser(data: StandIn, session: int, site: str, ask: Ask) -> None:
    await ask("browser_navigate", url=f"{site}/index{session}.html")
    # People choose from what stands at the top of a long list.
    shown = (await ask("browser_snapshot")).partition(f"product-{session}-80.html")[0]
    link = _pick(data, r"/url: (product-[\w-]+\.html)", shown)
    await ask("browser_navigate", url=f"{site}/{link}")
    shown = await ask("browser_snapshot")
    button = re.search(r'button "Add to basket" \[ref=(\w+)\]', shown)
    if button:
        await ask("browser_click", element="Add to basket", target=button[1])


def _pick(data: StandIn, pattern: str, text: str, kind: type = str) -> Any:
    """Choose one of the values that an answer shows."""
    found = re.findall(pattern, text)
    if not found:
        raise LookupError(f"nothing like {pattern} in {text[:300]}")
    return kind(data.chance.choice(found))
