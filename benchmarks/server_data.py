# ruff: noqa: E501 (records stand in lines as the documentation of their APIs prints them)
"""What real servers work on: a clone of this repository, a project's files, and services on loopback."""

from __future__ import annotations

import csv
import json
import os
import pydoc
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
import zipfile
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.learning_services import REDIRECT, postgres
from benchmarks.stand_in import StandIn, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
_COLUMNS: Final = ("name", "version", "summary", "license", "author", "requires_python", "home_page")
_ORDERS: Final = ("id", "customer", "email", "created_at", "status", "country", "sku", "quantity", "price")
_WAIT: Final = 60  # seconds for a service to start
_CHROMIUM: Final = shutil.which("chromium") or "chromium"


class _QuietPages(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Write nothing."""


class Project(StandIn):
    """The services of one project, those of a stand-in and what watches and runs them."""

    def routes(self) -> list[tuple[str, Any]]:
        """Return the paths that are answered."""
        start, jobs = 1_790_000_000, ("billing", "checkout", "search", "gateway")
        series = [
            {"__name__": "http_requests_total", "job": job, "instance": f"10.0.{at}.{at + 7}:9100", "method": method,
             "status": status, "namespace": "prod", "cluster": "eu-central-1"}
            for at, job in enumerate(jobs) for method in ("GET", "POST") for status in ("200", "404", "500")
        ]  # fmt: skip
        vector = [{"metric": one, "value": [start + 0.781, str(self.chance.randint(0, 90_000))]} for one in series]
        matrix = [
            {"metric": one, "values": [[start + 60 * at, f"{self.chance.random() * 9:.12f}"] for at in range(60)]}
            for one in series[:6]
        ]
        targets = [
            {"discoveredLabels": {"__address__": one["instance"], "__metrics_path__": "/metrics", "__scheme__": "http",
             "__scrape_interval__": "15s", "__scrape_timeout__": "10s", "job": one["job"]},
             "labels": {"instance": one["instance"], "job": one["job"]}, "scrapePool": one["job"],
             "scrapeUrl": f"http://{one['instance']}/metrics", "globalUrl": f"http://{one['instance']}/metrics",
             "lastError": "", "lastScrape": self.when(), "lastScrapeDuration": self.chance.random() / 9, "health": "up",
             "scrapeInterval": "15s", "scrapeTimeout": "10s"} for one in series[::3]
        ]  # fmt: skip
        orders = [
            {"_index": "orders-2026.09", "_id": self.hex(20), "_score": 1.0, "_source": order}
            for order in orders_of(self, 40)
        ]
        hits = {"took": 4, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
                "hits": {"total": {"value": 40, "relation": "eq"}, "max_score": 1.0, "hits": orders}}  # fmt: skip
        indices = [
            {"health": "green", "status": "open", "index": f"{name}-2026.09", "uuid": self.hex(22), "pri": "1", "rep": "1",
             "docs.count": str(self.chance.randint(99, 99_999)), "docs.deleted": "0", "store.size": "61mb", "pri.store.size": "30mb"}
            for name in ("orders", "logs", "metrics", "audit", "traces")
        ]  # fmt: skip
        fields = {name: {"type": "keyword", "ignore_above": 256} for name in _ORDERS}
        flows = [
            {"dag_id": f"load_{self.noun()}_{at}", "dag_display_name": f"load_{at}", "root_dag_id": None, "is_paused": False,
             "is_active": True, "is_subdag": False, "last_parsed_time": self.when(), "last_pickled": None, "last_expired": None,
             "scheduler_lock": None, "pickle_id": None, "default_view": "grid", "fileloc": f"/opt/airflow/dags/load_{at}.py",
             "file_token": self.hex(60), "owners": ["data"], "description": self.prose(1), "schedule_interval":
             {"__type": "CronExpression", "value": "0 2 * * *"}, "timetable_description": "At 02:00", "tags": [{"name": "etl"}],
             "max_active_tasks": 16, "max_active_runs": 1, "has_task_concurrency_limits": False, "has_import_errors": False,
             "next_dagrun": self.when(), "next_dagrun_data_interval_start": self.when(), "max_consecutive_failed_dag_runs": 0}
            for at in range(20)
        ]  # fmt: skip
        pets = [
            {"id": at, "category": {"id": at % 3, "name": ("dogs", "cats", "birds")[at % 3]}, "name": self.noun(), "status": "available",
             "photoUrls": [f"https://img.example.com/{self.hex(8)}.jpg"], "tags": [{"id": 1, "name": "tag1"}]}
            for at in range(30)
        ]  # fmt: skip
        success = {"status": "success"}
        return [
            (r"/api/v1/query", {**success, "data": {"resultType": "vector", "result": vector}}),
            (r"/api/v1/query_range", {**success, "data": {"resultType": "matrix", "result": matrix}}),
            (r"/api/v1/targets", {**success, "data": {"activeTargets": targets, "droppedTargets": []}}),
            (r"/api/v1/label/__name__/values", {**success, "data": [f"{job}_{kind}_total" for job in jobs for kind in (
                "requests", "errors", "bytes_sent", "bytes_received", "retries", "timeouts")]}),
            (r"/api/v1/metadata", {**success, "data": {f"{job}_requests_total": [
                {"type": "counter", "help": f"Requests to {job}.", "unit": ""}] for job in jobs}}),
            (r"/api/v1/dags", {"dags": flows, "total_entries": len(flows)}),
            (r"/api/v1/dags/([^/]+)", lambda ask: next(one for one in flows if one["dag_id"] == ask.found[1])),
            (r"/_cat/indices(?:/.*)?", indices),
            (r"/[^/]+/_mapping", {"orders-2026.09": {"mappings": {"properties": fields}}}),
            (r"/[^/]+/_search", hits),
            (r"", {"name": "node-1", "cluster_name": "shop", "version": {"number": "8.15.0"}, "tagline": "You Know, for Search"}),
            (r"/pets", pets),
            (r"/pets/(\d+)", lambda ask: next(one for one in pets if one["id"] == int(ask.found[1]))),
            (r"/openapi.json", _openapi),
            *super().routes(),
        ]  # fmt: skip


def _openapi(_: Any = None) -> dict[str, Any]:
    answers = {"200": {"description": "Found", "content": {"application/json": {"schema": {"type": "object"}}}}}
    one = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    return {
        "openapi": "3.0.3", "info": {"title": "Pets", "version": "1.0"}, "servers": [{"url": "http://127.0.0.1"}],
        "paths": {
            "/pets": {"get": {"operationId": "listPets", "summary": "List pets", "responses": answers}},
            "/pets/{id}": {"get": {"operationId": "getPet", "summary": "Get a pet", "parameters": [one], "responses": answers}},
        },
    }  # fmt: skip


def orders_of(data: StandIn, count: int) -> list[dict[str, Any]]:
    """Invent orders of a shop."""
    return [
        {"id": 10_000 + at, "customer": (who := data.person()), "email": f"{who.lower().replace(' ', '.')}@example.com",
         "created_at": data.when(), "status": data.chance.choice(("paid", "open", "late", "refunded")),
         "country": data.chance.choice(("DE", "FR", "NL", "US")), "sku": f"SKU-{data.hex(4)}",
         "quantity": data.chance.randint(1, 9), "price": data.chance.randint(100, 99_999) / 100}
        for at in range(count)
    ]  # fmt: skip


def write_data(folder: Path, place: Path) -> Path:
    """Write a project's files, which every server gets a copy of, and a clone of this repository; return the clone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    repository = place / "repository"
    if not repository.exists():
        subprocess.run(["git", "clone", "-q", str(ROOT), str(repository)], check=True)
    found = {each.metadata["Name"]: each.metadata for each in distributions()}
    rows = [{name: about.json.get(name) for name in _COLUMNS} for _, about in sorted(found.items())]
    (folder / "packages.json").write_text(json.dumps(rows), encoding="utf-8")
    orders = orders_of(Project(1), 300)
    with closing(sqlite3.connect(folder / "packages.db")) as database, database:
        for table, columns, values in (("packages", _COLUMNS, rows), ("orders", _ORDERS, orders)):
            database.execute(f"create table {table} ({', '.join(columns)})")
            places = ", ".join("?" * len(columns))
            database.executemany(f"insert into {table} values ({places})", [tuple(row.values()) for row in values])  # noqa: S608 (our own names)
    with (folder / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _ORDERS)
        writer.writeheader()
        writer.writerows(orders)
    (folder / "openapi.json").write_text(json.dumps(_openapi()))
    (folder / "json.html").write_text(pydoc.html.page("json", pydoc.html.document(json)), encoding="utf-8")
    shutil.copytree(repository / "docs", folder / "vault")
    (folder / "shop.html").write_text(_shop_page(orders))
    (folder / "web").mkdir()
    _write_project(folder / "web")
    _write_notebook(folder / "analysis.ipynb", orders)
    _write_workbook(folder / "orders.xlsx", orders)
    _write_document(folder / "report.docx", orders)
    pdf = f"--print-to-pdf={folder / 'json.pdf'}"
    subprocess.run(
        [_CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", pdf, str(folder / "json.html")],
        check=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_WAIT,
    )  # fmt: skip
    return repository


def _write_project(folder: Path) -> None:
    """Write a small JavaScript project with faults that a linter and a compiler find."""
    (folder / "package.json").write_text(json.dumps({"name": "shop", "version": "1.0.0", "type": "module"}))
    (folder / "eslint.config.js").write_text(
        "export default [{ rules: { 'no-unused-vars': 'error', 'prefer-const': 'warn', eqeqeq: 'error', 'no-var': 'warn' } }];\n"
    )
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": {"strict": True, "noEmit": True}}))
    parts = [
        f"export function total{at}(order, tax) {{\n  var sum = 0;\n  let unused{at} = order.id;\n  for (let line of order.lines) {{\n"
        f"    if (line.kind == 'gift') continue;\n    sum += line.price * line.quantity;\n  }}\n  return sum * {at};\n}}\n"
        for at in range(12)
    ]
    for name in ("cart", "orders", "refunds"):
        (folder / f"{name}.js").write_text("\n".join(parts))
    typed = "export interface Order { id: number; lines: { price: number; quantity: number }[] }\n"
    (folder / "order.ts").write_text(
        typed
        + "export function sum(order: Order): string {\n  return order.lines.length;\n}\nconst late: Order = { id: '7' };\n"
    )


def _shop_page(orders: list[dict[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td><a href='orders/{one['id']}.html'>{one['customer']}</a></td><td>{one['status']}</td><td>{one['price']} EUR</td>"
        f"<td><button>Refund</button></td></tr>"
        for one in orders[:80]
    )
    return (
        "<!doctype html><html lang=en><title>Orders</title><nav><a href='/'>Home</a> <a href='/about'>About</a></nav><main><h1>Orders"
        f"</h1><label>Search <input type=search></label><table><tr><th>Customer<th>Status<th>Price<th></tr>{rows}</table></main>"
        "<footer>All prices include tax. <a href='/imprint'>Imprint</a></footer><script>console.log('ready', 80)</script></html>"
    )


def _write_notebook(path: Path, orders: list[dict[str, Any]]) -> None:
    shown = "\n".join("  ".join(map(str, order.values())) for order in orders[:20])
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "id": "a1", "source": ["# Orders\n", "What was sold."]}
    ]
    for at, source in enumerate(
        ("import csv", "orders = list(csv.DictReader(open('orders.csv')))", "orders[:20]", "1 / 0")
    ):
        output: list[dict[str, Any]] = []
        if at == 2:
            output = [
                {"output_type": "execute_result", "execution_count": 3, "metadata": {}, "data": {"text/plain": [shown]}}
            ]
        if at == 3:
            output = [
                {
                    "output_type": "error",
                    "ename": "ZeroDivisionError",
                    "evalue": "division by zero",
                    "traceback": ["ZeroDivisionError: division by zero"],
                }
            ]
        cells.append(
            {
                "cell_type": "code",
                "execution_count": at + 1,
                "metadata": {},
                "id": f"b{at}",
                "source": [source],
                "outputs": output,
            }
        )
    kernel = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


def _write_workbook(path: Path, orders: list[dict[str, Any]]) -> None:
    def cell(value: Any, at: str) -> str:
        if isinstance(value, str):
            return f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>'
        return f'<c r="{at}"><v>{value}</v></c>'

    rows = "".join(
        f'<row r="{number}">{"".join(map(cell, row, (f"{column}{number}" for column in "ABCDEFGHI")))}</row>'
        for number, row in enumerate((_ORDERS, *(order.values() for order in orders)), 1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    _write_package(path, {
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="orders" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _relation(f"{office}/worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><dimension ref="A1:I{len(orders) + 1}"/><sheetData>{rows}</sheetData></worksheet>',
    }, "xl/workbook.xml", {"xl/workbook.xml": "spreadsheetml.sheet.main", "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet"})  # fmt: skip


def _write_document(path: Path, orders: list[dict[str, Any]]) -> None:
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

    def paragraph(text: Any) -> str:
        return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"

    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(value)}</w:tc>' for value in row)}</w:tr>"
        for row in (_ORDERS, *(order.values() for order in orders[:40]))
    )
    project = Project(2)
    texts = "".join(paragraph(project.prose(5)) for _ in range(12))
    body = f"{paragraph('Orders of September')}{texts}<w:tbl>{rows}</w:tbl>{paragraph('End')}"
    _write_package(path, {
        "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body></w:document>',
    }, "word/document.xml", {"word/document.xml": "wordprocessingml.document.main"})  # fmt: skip


def _relation(kind: str, target: str) -> str:
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}"><Relationship Id="rId1" Type="{kind}" Target="{target}"/></Relationships>'


def _write_package(path: Path, parts: dict[str, str], start: str, kinds: dict[str, str]) -> None:
    """Write a file of an office program: a zip of XML parts."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    types = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    listed = f'<Types xmlns="{space}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in {"[Content_Types].xml": listed, "_rels/.rels": _relation(office, start), **parts}.items():
            package.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{text}')


@contextmanager
def services(place: Path, data: Path) -> Iterator[dict[str, str]]:
    """Run what the servers reach on loopback, and return the names by which servers.json speaks of it."""
    project = Project(1)
    with ExitStack() as stack:
        api = stack.enter_context(serve(project))
        web = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietPages, directory=str(data))))
        for server in (api, web):
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        address = f"http://127.0.0.1:{api.server_port}"
        (place / "redirect.cjs").write_text(REDIRECT)
        context = {"name": "shop", "context": {"cluster": "shop", "user": "nobody"}}
        (place / "kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "shop", "contexts": [context],
            "clusters": [{"name": "shop", "cluster": {"server": address}}], "users": [{"name": "nobody", "user": {}}],
        }))  # fmt: skip
        there = {
            "api": address, "port": str(api.server_port), "web": f"http://127.0.0.1:{web.server_port}", "place": str(place),
            "chromium": _CHROMIUM, "issue": project.tickets[3]["key"], "dashboard": project.dashboards[2]["dashboard"]["uid"],
            "pod": next(one["metadata"]["name"] for one in project.pods if one["metadata"]["namespace"] == "prod"),
            "merge": str(project.merge_requests[0]["iid"]), "page": project.pages[0]["id"],
            "channel": project.channels[0]["id"],
        }  # fmt: skip
        for name, start in (("postgres", postgres), ("mysql", _mysql), ("redis", _redis)):
            try:
                there[name] = stack.enter_context(start(project, place))
            except (OSError, ValueError, subprocess.CalledProcessError) as fault:
                print(f"no {name} here: {fault}")
        yield there


@contextmanager
def _mysql(project: Project, place: Path) -> Iterator[str]:
    """Start a MariaDB of its own with the orders, and yield its port."""
    with _daemon("mariadbd", place / "mysql") as (folder, port):
        subprocess.run(["mariadb-install-db", f"--datadir={folder}", "--auth-root-authentication-method=normal", *_root()],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        options = [f"--datadir={folder}", f"--socket={folder}/socket", f"--port={port}", "--bind-address=127.0.0.1"]
        with _running(["mariadbd", "--no-defaults", *options, f"--pid-file={folder}/pid", *_root()], port):
            said = (
                "create database shop; create user shop@'127.0.0.1' identified by 'shop'; create user shop@localhost identified by 'shop';"
                "grant all on shop.* to shop@'127.0.0.1'; grant all on shop.* to shop@localhost; use shop; create table orders (id int primary key, customer"
                " varchar(80), email varchar(80), created_at datetime, status varchar(20), country char(2), sku varchar(20), quantity int,"
                " price decimal(10,2));"
            )
            for order in orders_of(project, 300):
                order["created_at"] = order["created_at"][:19].replace("T", " ")
                values = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in order.values())
                said += f"insert into orders values ({values});"  # noqa: S608 (our own rows)
            subprocess.run(
                ["mariadb", "--no-defaults", f"--socket={folder}/socket", "-u", "root"], input=said.encode(), check=True
            )
            yield str(port)


@contextmanager
def _redis(project: Project, place: Path) -> Iterator[str]:
    """Start a Redis of its own with sessions and carts, and yield its port."""
    with (
        _daemon("redis-server", place / "redis") as (folder, port),
        _running(["redis-server", "--port", str(port), "--dir", str(folder), "--save", ""], port),
        socket.create_connection(("127.0.0.1", port)) as there,
    ):
        lines = [
            f'HSET order:{one["id"]} customer "{one["customer"]}" email {one["email"]} status {one["status"]} price {one["price"]} country {one["country"]}\r\n'
            for one in orders_of(project, 120)
        ]
        lines += [f"RPUSH queue:mail order:{10_000 + at}\r\n" for at in range(60)]
        lines += [
            'SET config:shop \'{"currency": "EUR", "tax": 0.19, "carriers": ["dhl", "ups"], "limits": {"items": 50}}\'\r\n'
        ]
        there.sendall("".join(lines).encode())
        there.recv(65_536)
        yield str(port)


def _root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


@contextmanager
def _daemon(program: str, folder: Path) -> Iterator[tuple[Path, int]]:
    if shutil.which(program) is None:
        raise ValueError(f"{program} is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    yield folder, port


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + _WAIT
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise
                    time.sleep(0.2)
            yield
        finally:
            process.terminate()
