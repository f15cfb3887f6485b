# ruff: noqa: E501 (records stand in lines as the documentation of their APIs prints them)
"""An HTTP service on loopback that answers as the APIs of well-known services are documented to, with invented data.

The real server packages are put in front of it (benchmarks/learning_services.py). Every answer has all members that the
documentation of its API shows, so that what is measured is not our choice of fields. A run's number seeds the data.
"""

from __future__ import annotations

import json
import random
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = Any


class Asked(NamedTuple):
    """A request: its path as it matched, and its query with the header Accept."""

    found: re.Match[str]
    query: dict[str, list[str]]


_NOUNS: Final = {
    1: "invoice ledger payment refund checkout basket coupon receipt voucher tariff quota tenant".split(),  # noqa: SIM905 (read as words)
    2: "sensor gateway firmware antenna modem router beacon relay probe battery thermostat meter".split(),  # noqa: SIM905 (read as words)
    3: "article author editor chapter glossary footnote appendix preface caption index draft proof".split(),  # noqa: SIM905 (read as words)
}
_VERBS: Final = ("fails", "hangs", "is slow", "is empty", "loses updates", "times out", "shows a wrong total", "leaks")
_PLACES: Final = ("on retry", "under load", "after a restart", "with an old client", "in the night", "behind a proxy")
_FIRST: Final = {
    1: ("ada", "ben", "cleo", "dirk"),
    2: ("eva", "fred", "gwen", "hugo"),
    3: ("ines", "jan", "kim", "lou"),
}
_LAST: Final = ("arden", "brook", "cole", "dunn", "ellis", "frost")


class StandIn:
    """Makes the answers of all services for one run."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.chance = random.Random(f"stand-in {run}")  # noqa: S311 (the same data every time)
        self.people = [f"{first}-{last}" for first in _FIRST[run] for last in _LAST]
        self.owner, self.repo = f"{_NOUNS[run][0]}-labs", f"{_NOUNS[run][1]}-service"
        self.issues = [self._issue(4200 * run + number) for number in range(30)]
        self.pulls = [self._pull(4800 * run + number) for number in range(20)]
        self.commits = [self._commit() for _ in range(30)]
        self.merge_requests = [self._merge_request(300 * run + number) for number in range(20)]
        self.gitlab_issues = [self._gitlab_issue(700 * run + number) for number in range(20)]
        self.channels = [self._channel(number) for number in range(20)]
        self.messages = {one["id"]: [self._message(at) for at in range(25)] for one in self.channels}
        self.pages = [self._notion_page() for _ in range(25)]
        self.blocks = {page["id"]: [self._block(page["id"]) for _ in range(20)] for page in self.pages}
        self.tickets = [self._jira_issue(1000 * run + number) for number in range(25)]
        self.sentry_issues = [self._sentry_issue(number) for number in range(20)]
        self.pods = [self._pod() for _ in range(25)]
        self.dashboards = [self._dashboard() for _ in range(15)]

    # What all data are made of.
    def hex(self, size: int) -> str:
        """Return a number of so many hexadecimal digits."""
        return f"{self.chance.getrandbits(size * 4):0{size}x}"

    def uuid(self) -> str:
        """Return something like a UUID."""
        digits = self.hex(32)
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def noun(self) -> str:
        """Choose a noun of this run."""
        return self.chance.choice(_NOUNS[self.run])

    def title(self) -> str:
        """Return a title of an issue."""
        return f"{self.noun().title()} {self.chance.choice(_VERBS)} {self.chance.choice(_PLACES)}"

    def prose(self, sentences: int = 4) -> str:
        """Return some sentences."""
        said = (f"The {self.noun()} of the {self.noun()} {self.chance.choice(_VERBS)} {self.chance.choice(_PLACES)}."
                for _ in range(sentences))  # fmt: skip
        return " ".join(said)

    def when(self) -> str:
        """Return a time of this run."""
        day, hour, minute = self.chance.randint(1, 28), self.chance.randint(0, 23), self.chance.randint(0, 59)
        return f"2026-0{self.run + self.chance.randint(0, 5)}-{day:02d}T{hour:02d}:{minute:02d}:17Z"

    # GitHub
    def _user(self, name: str) -> dict[str, Any]:
        number, api = sum(map(ord, name)) * 977, f"https://api.github.com/users/{name}"
        more = ("followers", "subscriptions", "organizations", "repos", "received_events")
        return {
            "login": name, "id": number, "node_id": f"MDQ6VXNlcj{number}", "gravatar_id": "",
            "avatar_url": f"https://avatars.githubusercontent.com/u/{number}?v=4", "url": api,
            "html_url": f"https://github.com/{name}", **{f"{one}_url": f"{api}/{one}" for one in more},
            "following_url": f"{api}/following{{/other_user}}", "gists_url": f"{api}/gists{{/gist_id}}",
            "starred_url": f"{api}/starred{{/owner}}{{/repo}}", "events_url": f"{api}/events{{/privacy}}",
            "type": "User", "user_view_type": "public", "site_admin": False,
        }  # fmt: skip

    def person(self) -> str:
        """Choose a person of this run."""
        return self.chance.choice(self.people)

    def _issue(self, number: int) -> dict[str, Any]:
        api = f"https://api.github.com/repos/{self.owner}/{self.repo}/issues/{number}"
        label = self.chance.choice(("bug", "question", "enhancement", "docs"))
        zero = dict.fromkeys(("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"), 0)
        return {
            "url": api, "repository_url": api.partition("/issues")[0], "labels_url": f"{api}/labels{{/name}}",
            "comments_url": f"{api}/comments", "events_url": f"{api}/events",
            "html_url": f"https://github.com/{self.owner}/{self.repo}/issues/{number}", "id": 2_900_000_000 + number,
            "node_id": f"I_kwDO{self.hex(12)}", "number": number, "title": self.title(),
            "user": self._user(self.person()), "state": self.chance.choice(("open", "open", "closed")), "locked": False,
            "labels": [{"id": sum(map(ord, label)), "node_id": f"LA_{self.hex(10)}", "url": f"{api}/labels/{label}",
                        "name": label, "color": "d73a4a", "default": True, "description": f"Kind: {label}"}],
            "assignee": None, "assignees": [self._user(self.person())], "milestone": None,
            "comments": self.chance.randint(0, 30), "created_at": self.when(), "updated_at": self.when(),
            "closed_at": None, "author_association": "CONTRIBUTOR", "active_lock_reason": None,
            "body": self.prose(6), "closed_by": None, "timeline_url": f"{api}/timeline",
            "reactions": {"url": f"{api}/reactions", "total_count": 0, **zero},
            "performed_via_github_app": None, "state_reason": None,
        }  # fmt: skip

    def _pull(self, number: int) -> dict[str, Any]:
        api = f"https://api.github.com/repos/{self.owner}/{self.repo}/pulls/{number}"
        page = f"https://github.com/{self.owner}/{self.repo}/pull/{number}"
        repo = {
            "id": 7_700_000 + self.run, "node_id": f"R_{self.hex(10)}", "name": self.repo, "private": False,
            "full_name": f"{self.owner}/{self.repo}", "owner": self._user(self.owner), "fork": False,
            "html_url": page.partition("/pull")[0], "description": self.prose(1), "url": api.partition("/pulls")[0],
            "default_branch": "main", "clone_url": f"{page.partition('/pull')[0]}.git", "language": "Go",
            "created_at": self.when(), "updated_at": self.when(), "pushed_at": self.when(),
            "git_url": f"git://github.com/{self.owner}/{self.repo}.git", "ssh_url": f"git@github.com:{self.owner}/{self.repo}.git",
            "stargazers_count": 812, "open_issues_count": 31, "topics": ["billing"], "visibility": "public",
        }  # fmt: skip

        def side(branch: str) -> dict[str, Any]:
            return {"label": f"{self.owner}:{branch}", "ref": branch, "sha": self.hex(40),
                    "user": self._user(self.owner), "repo": repo}  # fmt: skip

        links = ("self", "html", "issue", "comments", "review_comments", "commits", "statuses")
        return {
            "url": api, "id": 1_800_000_000 + number, "node_id": f"PR_{self.hex(12)}", "html_url": page,
            "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "issue_url": api.replace("pulls", "issues"),
            "number": number, "state": "open", "locked": False, "title": self.title(),
            "user": self._user(self.person()), "body": self.prose(5), "created_at": self.when(),
            "updated_at": self.when(), "closed_at": None, "merged_at": None, "merge_commit_sha": self.hex(40),
            "assignee": None, "assignees": [], "requested_reviewers": [self._user(self.person())],
            "requested_teams": [], "labels": [], "milestone": None, "draft": False, "commits_url": f"{api}/commits",
            "review_comments_url": f"{api}/comments", "statuses_url": f"{api}/statuses",
            "head": side(f"{self.noun()}-{number}"), "base": side("main"),
            "_links": {one: {"href": f"{api}/{one}"} for one in links}, "author_association": "MEMBER",
            "auto_merge": None, "active_lock_reason": None,
        }  # fmt: skip

    def _files(self) -> list[dict[str, Any]]:
        names = [f"{self.noun()}/{self.noun()}_{at}.go" for at in range(8)]
        base = f"https://github.com/{self.owner}/{self.repo}"
        return [{
            "sha": self.hex(40), "filename": name, "status": "modified", "additions": self.chance.randint(1, 40),
            "deletions": self.chance.randint(0, 9), "changes": 41, "blob_url": f"{base}/blob/{self.hex(40)}/{name}",
            "raw_url": f"{base}/raw/{self.hex(40)}/{name}", "contents_url": f"{base}/contents/{name}?ref={self.hex(40)}",
            "patch": "@@ -1,4 +1,9 @@\n" + "\n".join(f"+\t{self.noun()} := load({at})" for at in range(12)),
        } for name in names]  # fmt: skip

    def _commit(self) -> dict[str, Any]:
        sha, name = self.hex(40), self.person()
        api, page = (f"https://{host}/{self.owner}/{self.repo}" for host in ("api.github.com/repos", "github.com"))
        who = {"name": name.title(), "email": f"{name}@example.com", "date": self.when()}
        verification = {"verified": True, "reason": "valid", "signature": self.hex(200), "payload": self.hex(120)}
        tree = {"sha": self.hex(40), "url": f"{api}/git/trees/{sha}"}
        return {
            "sha": sha, "node_id": f"C_kwDO{self.hex(40)}", "url": f"{api}/commits/{sha}",
            "commit": {"author": who, "committer": who, "message": self.title(), "tree": tree,
                       "url": f"{api}/git/commits/{sha}", "comment_count": 0, "verification": verification},
            "html_url": f"{page}/commit/{sha}", "comments_url": f"{api}/commits/{sha}/comments",
            "author": self._user(name), "committer": self._user(name),
            "parents": [{"sha": self.hex(40), "url": f"{api}/commits/{sha}", "html_url": f"{page}/commit/{sha}"}],
        }  # fmt: skip

    # GitLab
    def _gitlab_user(self, name: str) -> dict[str, Any]:
        number = sum(map(ord, name))
        return {
            "id": number, "username": name, "public_email": "", "name": name.title(), "state": "active", "locked": False,
            "avatar_url": f"https://gitlab.example.com/uploads/-/system/user/avatar/{number}/avatar.png",
            "web_url": f"https://gitlab.example.com/{name}",
        }  # fmt: skip

    def _gitlab_common(self, iid: int, kind: str) -> dict[str, Any]:
        path = f"{self.owner}/{self.repo}"
        sign = "!" if kind == "merge_requests" else "#"
        counts = {"count": 4, "completed_count": 1}
        return {
            "id": 90_000 + iid, "iid": iid, "project_id": 55, "title": self.title(), "description": self.prose(5),
            "state": "opened", "created_at": self.when(), "updated_at": self.when(), "closed_by": None,
            "closed_at": None, "labels": [self.noun(), "backend"], "milestone": None, "upvotes": 0, "downvotes": 0,
            "author": self._gitlab_user(self.person()), "assignees": [self._gitlab_user(self.person())],
            "assignee": self._gitlab_user(self.person()), "user_notes_count": self.chance.randint(0, 12),
            "web_url": f"https://gitlab.example.com/{path}/-/{kind}/{iid}", "discussion_locked": None,
            "references": {"short": f"{sign}{iid}", "relative": f"{sign}{iid}", "full": f"{path}{sign}{iid}"},
            "time_stats": {"time_estimate": 0, "total_time_spent": 0, "human_time_estimate": None,
                           "human_total_time_spent": None}, "imported": False, "imported_from": "none",
            "task_completion_status": counts,
        }  # fmt: skip

    def _merge_request(self, iid: int) -> dict[str, Any]:
        return {
            **self._gitlab_common(iid, "merge_requests"), "merged_by": None, "merge_user": None, "merged_at": None,
            "target_branch": "main", "source_branch": f"{self.noun()}-{iid}", "source_project_id": 55,
            "target_project_id": 55, "draft": False, "work_in_progress": False, "merge_when_pipeline_succeeds": False,
            "reviewers": [self._gitlab_user(self.person())], "merge_status": "can_be_merged", "sha": self.hex(40),
            "detailed_merge_status": "mergeable", "merge_commit_sha": None, "squash_commit_sha": None,
            "should_remove_source_branch": None, "force_remove_source_branch": True, "prepared_at": self.when(),
            "reference": f"!{iid}", "squash": False, "squash_on_merge": False, "has_conflicts": False,
            "blocking_discussions_resolved": True, "approvals_before_merge": None,
        }  # fmt: skip

    def _gitlab_issue(self, iid: int) -> dict[str, Any]:
        api = f"https://gitlab.example.com/api/v4/projects/55/issues/{iid}"
        return {
            **self._gitlab_common(iid, "issues"), "type": "ISSUE", "merge_requests_count": 1, "due_date": None,
            "confidential": False, "issue_type": "issue", "weight": None, "blocking_issues_count": 0,
            "has_tasks": True, "task_status": "1 of 4 checklist items completed", "severity": "UNKNOWN",
            "_links": {"self": api, "notes": f"{api}/notes", "award_emoji": f"{api}/award_emoji",
                       "project": api.partition("/issues")[0], "closed_as_duplicate_of": None},
            "moved_to_id": None, "service_desk_reply_to": None, "epic_iid": None, "epic": None,
        }  # fmt: skip

    # Slack
    def _channel(self, number: int) -> dict[str, Any]:
        key, creator, text = f"C0{self.run}{number:02d}{self.hex(6).upper()}", f"U0{self.hex(8).upper()}", self.prose(1)
        flags = ("is_channel", "is_group", "is_im", "is_mpim", "is_private", "is_archived", "is_general", "is_shared",
                 "is_org_shared", "is_pending_ext_shared", "is_ext_shared", "is_member")  # fmt: skip
        return {
            "id": key, "name": f"{self.noun()}-{number}", "created": 1_700_000_000 + number * 8191, "unlinked": 0,
            **{flag: flag in {"is_channel", "is_member"} for flag in flags}, "name_normalized": f"{self.noun()}-{number}",
            "context_team_id": "T024BE7LD", "updated": 1_730_000_000_000 + number, "parent_conversation": None,
            "creator": creator, "pending_shared": [], "pending_connected_team_ids": [], "shared_team_ids": ["T024BE7LD"],
            "topic": {"value": text, "creator": creator, "last_set": 1_720_000_000},
            "purpose": {"value": text, "creator": creator, "last_set": 1_720_000_000}, "previous_names": [],
            "properties": {"tabs": [{"id": "Ct1", "type": "files"}], "use_case": "default"}, "num_members": number * 3,
        }  # fmt: skip

    def _message(self, at: int) -> dict[str, Any]:
        text, user = self.prose(2), f"U0{self.hex(8).upper()}"
        stamp = f"{1_790_000_000 + self.run * 86_400 + at * 611}.{self.chance.randrange(10**6):06d}"
        element = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
        return {
            "user": user, "type": "message", "ts": stamp, "client_msg_id": self.uuid(), "text": text,
            "team": "T024BE7LD", "thread_ts": stamp, "reply_count": 2, "reply_users_count": 1, "latest_reply": stamp,
            "reply_users": [user], "is_locked": False, "subscribed": False,
            "blocks": [{"type": "rich_text", "block_id": self.hex(5), "elements": [element]}],
            "reactions": [{"name": "eyes", "users": [user], "count": 1}],
        }  # fmt: skip

    def _member(self, at: int) -> dict[str, Any]:
        name = self.people[at % len(self.people)]
        images = {
            f"image_{size}": f"https://avatars.slack-edge.com/{self.hex(12)}_{size}.jpg" for size in (24, 72, 512)
        }
        profile = {
            "title": "Engineer", "phone": "", "skype": "", "real_name": name.title(), "display_name": name,
            "real_name_normalized": name.title(), "display_name_normalized": name, "fields": None, "status_text": "",
            "status_emoji": "", "status_expiration": 0, "avatar_hash": self.hex(12), "email": f"{name}@example.com",
            **images, "status_text_canonical": "", "team": "T024BE7LD",
        }  # fmt: skip
        return {
            "id": f"U0{self.hex(8).upper()}", "team_id": "T024BE7LD", "name": name, "deleted": False, "color": "9f69e7",
            "real_name": name.title(), "tz": "Europe/Berlin", "tz_label": "Central European Time", "tz_offset": 3600,
            "profile": profile, "is_admin": False, "is_owner": False, "is_primary_owner": False, "is_restricted": False,
            "is_ultra_restricted": False, "is_bot": False, "is_app_user": False, "updated": 1_730_000_000,
            "is_email_confirmed": True, "who_can_share_contact_card": "EVERYONE",
        }  # fmt: skip

    # Notion
    def _rich(self, text: str) -> list[dict[str, Any]]:
        plain = {"bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False}
        return [{"type": "text", "text": {"content": text, "link": None}, "plain_text": text, "href": None,
                 "annotations": {**plain, "color": "default"}}]  # fmt: skip

    def _notion_common(self, kind: str) -> dict[str, Any]:
        user = {"object": "user", "id": self.uuid()}
        return {"object": kind, "id": self.uuid(), "created_time": self.when(), "last_edited_time": self.when(),
                "created_by": user, "last_edited_by": user, "in_trash": False, "archived": False}  # fmt: skip

    def _notion_page(self) -> dict[str, Any]:
        common, title = self._notion_common("page"), self.title()
        slug = f"{title.replace(' ', '-')}-{common['id'].replace('-', '')}"
        status = self.chance.choice(("Not started", "In progress", "Done"))
        return {
            **common, "cover": None, "icon": {"type": "emoji", "emoji": "📄"}, "is_locked": False,
            "parent": {"type": "data_source_id", "data_source_id": f"ds{self.run}", "database_id": f"db{self.run}"},
            "properties": {
                "Status": {"id": "%3BXz", "type": "status", "status": {"id": self.uuid(), "name": status, "color": "blue"}},
                "Owner": {"id": "tPq", "type": "people", "people": [{"object": "user", "id": self.uuid(), "type": "person",
                          "name": self.person(), "avatar_url": None, "person": {"email": "x@example.com"}}]},
                "Due": {"id": "M%3B", "type": "date", "date": {"start": self.when()[:10], "end": None, "time_zone": None}},
                "Tags": {"id": "aBc", "type": "multi_select", "multi_select": [{"id": self.uuid(), "name": self.noun(), "color": "red"}]},
                "Points": {"id": "w1", "type": "number", "number": self.chance.randint(1, 13)},
                "Name": {"id": "title", "type": "title", "title": self._rich(title)},
            },
            "url": f"https://www.notion.so/{slug}", "public_url": None,
        }  # fmt: skip

    def _block(self, page: str) -> dict[str, Any]:
        kind = self.chance.choice(("paragraph", "paragraph", "bulleted_list_item", "heading_2"))
        content = {"rich_text": self._rich(self.prose(2)), "color": "default"}
        return {**self._notion_common("block"), "parent": {"type": "page_id", "page_id": page}, "has_children": False,
                "type": kind, kind: content}  # fmt: skip

    # Jira and Confluence
    def _jira_user(self, name: str) -> dict[str, Any]:
        base = "https://jira.example.com"
        avatars = {
            f"{size}x{size}": f"{base}/secure/useravatar?size={size}&avatarId=10346" for size in (16, 24, 32, 48)
        }
        return {"self": f"{base}/rest/api/2/user?username={name}", "name": name, "key": name.upper(), "active": True,
                "emailAddress": f"{name}@example.com", "avatarUrls": avatars, "displayName": name.title(),
                "timeZone": "Europe/Berlin"}  # fmt: skip

    def _jira_issue(self, number: int) -> dict[str, Any]:
        base, key = "https://jira.example.com", f"{_NOUNS[self.run][0][:3].upper()}-{number}"
        state = self.chance.choice(("To Do", "In Progress", "Done"))
        category = {
            "self": f"{base}/rest/api/2/statuscategory/4",
            "id": 4,
            "key": "indeterminate",
            "colorName": "yellow",
            "name": state,
        }

        def named(kind: str, name: str) -> dict[str, Any]:
            return {
                "self": f"{base}/rest/api/2/{kind}/3",
                "iconUrl": f"{base}/images/icons/{kind}.svg",
                "name": name,
                "id": "3",
            }

        project = {"self": f"{base}/rest/api/2/project/10100", "id": "10100", "key": key.partition("-")[0], "name": self.repo,
                   "projectTypeKey": "software", "avatarUrls": {"48x48": f"{base}/secure/projectavatar?avatarId=1"}}  # fmt: skip
        comments = [{"self": f"{base}/c/{at}", "id": str(at), "author": self._jira_user(self.person()), "body": self.prose(2),
                     "created": self.when(), "updated": self.when()} for at in range(2)]  # fmt: skip
        return {
            "expand": "operations,versionedRepresentations,editmeta,changelog,renderedFields", "id": str(20_000 + number),
            "self": f"{base}/rest/api/2/issue/{20_000 + number}", "key": key,
            "fields": {
                "summary": self.title(), "description": self.prose(6), "status": {**named("status", state), "statusCategory": category},
                "priority": named("priority", self.chance.choice(("High", "Medium", "Low"))), "project": project,
                "issuetype": {**named("issuetype", "Bug"), "subtask": False, "avatarId": 10303}, "labels": [self.noun()],
                "assignee": self._jira_user(self.person()), "reporter": self._jira_user(self.person()), "components": [],
                "creator": self._jira_user(self.person()), "created": self.when(), "updated": self.when(), "resolution": None,
                "fixVersions": [], "issuelinks": [], "subtasks": [], "attachment": [], "duedate": None, "votes": {"votes": 0},
                "watches": {"watchCount": 1, "isWatching": False}, "workratio": -1, "timespent": None,
                "comment": {"comments": comments, "maxResults": 2, "total": 2, "startAt": 0},
                **{f"customfield_{10_000 + at}": None for at in range(30)},
            },
        }  # fmt: skip

    # Sentry
    def _sentry_issue(self, at: int) -> dict[str, Any]:
        project = {"id": "450", "name": self.repo, "slug": self.repo, "platform": "python"}
        number = str(6_100_000_000 * self.run + at)
        return {
            "id": number, "shareId": None, "shortId": f"{self.repo.upper()}-{self.run}{at:X}", "title": f"ValueError: {self.title()}",
            "culprit": f"{self.noun()}.{self.noun()} in save", "permalink": f"https://{self.owner}.sentry.io/issues/{number}/",
            "logger": None, "level": "error", "status": "unresolved", "statusDetails": {}, "substatus": "ongoing",
            "isPublic": False, "platform": "python", "project": project, "type": "error", "numComments": 0,
            "metadata": {"value": self.title(), "type": "ValueError", "filename": f"{self.noun()}.py", "function": "save"},
            "assignedTo": None, "isBookmarked": False, "isSubscribed": False, "subscriptionDetails": None, "hasSeen": False,
            "annotations": [], "issueType": "error", "issueCategory": "error", "priority": "high", "isUnhandled": True,
            "count": str(self.chance.randint(2, 900)), "userCount": self.chance.randint(0, 50), "firstSeen": self.when(),
            "lastSeen": self.when(), "stats": {"24h": [[1_790_000_000 + at * 3600, at] for at in range(24)]},
        }  # fmt: skip

    def _sentry_event(self, issue: dict[str, Any]) -> dict[str, Any]:
        frames = [{"filename": f"{self.noun()}/{self.noun()}.py", "absPath": f"/app/{self.noun()}.py", "module": self.noun(),
                   "package": None, "platform": None, "instructionAddr": None, "symbolAddr": None, "function": self.noun(),
                   "rawFunction": None, "symbol": None, "lineNo": self.chance.randint(1, 400), "colNo": None, "trust": None,
                   "context": [[at, f"    {self.noun()} = load({self.noun()})"] for at in range(10, 17)], "inApp": at > 70,
                   "vars": {self.noun(): repr(self.noun())}} for at in range(80)]  # fmt: skip
        error = {"type": "ValueError", "value": issue["metadata"]["value"], "mechanism": {"type": "generic", "handled": False},
                 "threadId": None, "module": None, "stacktrace": {"frames": frames, "framesOmitted": None, "hasSystemFrames": True,
                 "registers": None}, "rawStacktrace": None}  # fmt: skip
        return {
            "id": self.hex(32), "eventID": self.hex(32), "groupID": issue["id"], "title": issue["title"], "message": "",
            "culprit": issue["culprit"], "platform": "python", "type": "error", "dateCreated": self.when(), "size": 9000,
            "projectID": "450", "user": None, "dist": None, "contexts": {"runtime": {"name": "CPython", "version": "3.12.4", "type": "runtime"}},
            "entries": [{"type": "exception", "data": {"values": [error], "hasSystemFrames": True, "excOmitted": None}}],
            "tags": [{"key": key, "value": value} for key, value in (("environment", "production"), ("level", "error"),
                     ("release", self.hex(40)), ("server_name", f"web-{self.run}"))], "dateReceived": self.when(),
            "metadata": issue["metadata"], "sdk": {"name": "sentry.python", "version": "2.1.0"}, "errors": [], "context": {},
            "packages": {}, "fingerprints": [self.hex(32)], "occurrence": None,
        }  # fmt: skip

    # Kubernetes
    def _pod(self) -> dict[str, Any]:
        app = self.noun()
        name, space = f"{app}-{self.hex(9)}-{self.hex(5)}", self.chance.choice(("prod", "staging"))
        labels = {"app": app, "pod-template-hash": self.hex(9), "app.kubernetes.io/managed-by": "Helm"}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": self.uuid(), "controller": True,
                 "blockOwnerDeletion": True}  # fmt: skip
        image = f"registry.example.com/{app}:{self.run}.{self.chance.randint(1, 40)}"
        token = {"name": f"kube-api-access-{self.hex(5)}", "readOnly": True,
                 "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}  # fmt: skip
        container: dict[str, Any] = {
            "name": app, "image": image, "ports": [{"containerPort": 8080, "protocol": "TCP"}], "imagePullPolicy": "IfNotPresent",
            "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
            "volumeMounts": [token], "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "env": [{"name": "MODE", "value": "live"}],
        }  # fmt: skip
        conditions = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": self.when()}
                      for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]  # fmt: skip
        return {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "generateName": f"{app}-{self.hex(9)}-", "namespace": space, "uid": self.uuid(),
                         "resourceVersion": str(self.chance.randrange(10**8)), "creationTimestamp": self.when(), "labels": labels,
                         "annotations": {"checksum/config": self.hex(64)}, "ownerReferences": [owner]},
            "spec": {"volumes": [{"name": token["name"], "projected": {"defaultMode": 420, "sources": [
                         {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]}}], "containers": [container],
                     "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
                     "serviceAccountName": "default", "serviceAccount": "default", "nodeName": f"node-{self.hex(4)}",
                     "securityContext": {}, "schedulerName": "default-scheduler", "priority": 0, "enableServiceLinks": True,
                     "preemptionPolicy": "PreemptLowerPriority", "tolerations": [{"key": "node.kubernetes.io/not-ready",
                         "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]},
            "status": {"phase": "Running", "conditions": conditions, "hostIP": "10.0.0.4", "podIP": f"10.244.0.{self.run}",
                       "podIPs": [{"ip": "10.244.0.9"}], "startTime": self.when(), "qosClass": "Burstable", "containerStatuses": [
                           {"name": app, "state": {"running": {"startedAt": self.when()}}, "lastState": {}, "ready": True,
                            "restartCount": self.chance.randint(0, 9), "image": image, "imageID": f"{image}@sha256:{self.hex(64)}",
                            "containerID": f"containerd://{self.hex(64)}", "started": True}]},
        }  # fmt: skip

    def _table(self, pods: list[dict[str, Any]]) -> dict[str, Any]:
        heads = ("Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates")
        columns = [
            {"name": head, "type": "string", "format": "", "description": "", "priority": int(at > 4)}
            for at, head in enumerate(heads)
        ]
        rows = [{"cells": [pod["metadata"]["name"], "1/1", "Running", str(pod["status"]["containerStatuses"][0]["restartCount"]), "9d",
                           pod["status"]["podIP"], pod["spec"]["nodeName"], "<none>", "<none>"], "object": pod} for pod in pods]  # fmt: skip
        return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "77"},
                "columnDefinitions": columns, "rows": rows}  # fmt: skip

    # Grafana
    def _dashboard(self) -> dict[str, Any]:
        uid, title = self.hex(9), f"{self.noun().title()} overview {self.chance.randint(1, 99)}"
        source = {"type": "prometheus", "uid": f"prom{self.run}"}
        custom = {"axisBorderShow": False, "axisCenteredZero": False, "axisLabel": "", "drawStyle": "line", "fillOpacity": 0,
                  "gradientMode": "none", "lineInterpolation": "linear", "lineWidth": 1, "pointSize": 5, "showPoints": "auto",
                  "spanNulls": False, "stacking": {"group": "A", "mode": "none"}, "thresholdsStyle": {"mode": "off"}}  # fmt: skip
        panels = [{
            "id": at, "type": "timeseries", "title": f"{self.noun().title()} rate", "datasource": source, "pluginVersion": "11.2.0",
            "gridPos": {"h": 8, "w": 12, "x": 0, "y": at * 8}, "fieldConfig": {"overrides": [], "defaults": {
                "color": {"mode": "palette-classic"}, "custom": custom, "mappings": [], "unit": "reqps", "thresholds": {
                    "mode": "absolute", "steps": [{"color": "green", "value": None}, {"color": "red", "value": 80}]}}},
            "options": {"legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
                        "tooltip": {"mode": "single", "sort": "none"}},
            "targets": [{"refId": "A", "datasource": source, "editorMode": "code", "range": True, "legendFormat": "{{pod}}",
                         "expr": f"sum(rate({self.noun()}_{self.noun()}_total[5m])) by (pod)"}],
        } for at in range(8)]  # fmt: skip
        return {
            "dashboard": {"id": 7, "uid": uid, "title": title, "tags": [self.noun()], "timezone": "browser", "schemaVersion": 39,
                          "version": 4, "editable": True, "graphTooltip": 0, "links": [], "panels": panels, "refresh": "30s",
                          "time": {"from": "now-6h", "to": "now"}, "templating": {"list": []}, "weekStart": "",
                          "annotations": {"list": [{"builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"},
                              "enable": True, "hide": True, "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts"}]}},
            "meta": {"type": "db", "canSave": True, "canEdit": True, "canAdmin": True, "canStar": True, "canDelete": True,
                     "slug": title.lower().replace(" ", "-"), "url": f"/d/{uid}/{title.lower().replace(' ', '-')}", "expires": "0001-01-01T00:00:00Z",
                     "created": self.when(), "updated": self.when(), "updatedBy": "admin", "createdBy": "admin", "version": 4,
                     "hasAcl": False, "isFolder": False, "folderId": 0, "folderUid": "", "folderTitle": "General", "provisioned": False},
        }  # fmt: skip

    def routes(self) -> list[tuple[str, Answer | Callable[[Asked], Answer]]]:
        """Return the paths that are answered, as patterns, each with its answer or what makes it."""
        one, where = _one, {"prod", "staging"}
        pages = {
            "object": "list",
            "next_cursor": None,
            "has_more": False,
            "type": "page_or_data_source",
            "request_id": self.uuid(),
        }
        hits = [{"id": at, "uid": found["dashboard"]["uid"], "orgId": 1, "title": found["dashboard"]["title"], "uri": f"db/{at}",
                 "url": found["meta"]["url"], "slug": "", "type": "dash-db", "tags": found["dashboard"]["tags"], "isStarred": False,
                 "sortMeta": 0, "isDeleted": False} for at, found in enumerate(self.dashboards)]  # fmt: skip
        org = {
            "id": "1",
            "slug": self.owner,
            "name": self.owner,
            "links": {"regionUrl": "https://us.sentry.io", "organizationUrl": f"https://{self.owner}.sentry.io"},
        }
        project = {"id": "450", "slug": self.repo, "name": self.repo, "platform": "python", "dateCreated": self.when(), "isBookmarked": False,
                   "isMember": True, "features": ["alert-filters", "minidump"], "firstEvent": self.when(), "access": [], "hasAccess": True,
                   "status": "active", "isPublic": False, "isInternal": False, "color": "#3fbf7f", "avatar": {"avatarType": "letter_avatar"},
                   "teams": [], "organization": org}  # fmt: skip
        resource = {
            "name": "pods",
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["get", "list"],
            "shortNames": ["po"],
        }
        spaces: dict[str, Any] = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [
            {"metadata": {"name": name, "uid": self.uuid(), "creationTimestamp": self.when()}, "status": {"phase": "Active"}} for name in sorted(where)]}  # fmt: skip
        spaces_table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "columnDefinitions": [
            {"name": name, "type": "string", "format": "", "description": "", "priority": 0} for name in ("Name", "Status", "Age")],
            "rows": [{"cells": [space["metadata"]["name"], "Active", "9d"], "object": {"kind": "Namespace", "apiVersion": "v1", **space}} for space in spaces["items"]]}  # fmt: skip

        def pods(namespace: str, query: dict[str, list[str]]) -> Answer:
            found = [pod for pod in self.pods if not namespace or pod["metadata"]["namespace"] == namespace]
            plain = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": found}
            return self._table(found) if "table" in query["accept"][0].lower() else plain

        listed: list[tuple[str, Any]] = [
            (r"/repos/[^/]+/[^/]+/issues", self.issues),
            (r"/repos/[^/]+/[^/]+/issues/(\d+)", lambda ask: one(self.issues, "number", int(ask.found[1]))),
            (r"/repos/[^/]+/[^/]+/pulls", self.pulls),
            (r"/repos/[^/]+/[^/]+/pulls/(\d+)/files", self._files()),
            (r"/repos/[^/]+/[^/]+/pulls/(\d+)", lambda ask: one(self.pulls, "number", int(ask.found[1]))),
            (r"/repos/[^/]+/[^/]+/commits", self.commits),
            (r"/search/issues", {"total_count": 30, "incomplete_results": False, "items": self.issues}),
            (r"/api/v4/projects/[^/]+/merge_requests", self.merge_requests),
            (r"/api/v4/projects/[^/]+/merge_requests/(\d+)", lambda ask: one(self.merge_requests, "iid", int(ask.found[1]))),
            (r"/api/v4/projects/[^/]+/issues", self.gitlab_issues),
            (r"/api/v4/projects/[^/]+/issues/(\d+)", lambda ask: one(self.gitlab_issues, "iid", int(ask.found[1]))),
            (r"/api/conversations.list", {"ok": True, "channels": self.channels, "response_metadata": {"next_cursor": ""}}),
            (r"/api/conversations.info", lambda ask: {"ok": True, "channel": one(self.channels, "id", ask.query["channel"][0])}),
            (r"/api/conversations.history", lambda ask: {"ok": True, "messages": self.messages[ask.query["channel"][0]], "has_more": False, "pin_count": 0}),
            (r"/api/conversations.replies", {"ok": True, "messages": [self._message(at) for at in range(5)], "has_more": False}),
            (r"/api/users.list", {"ok": True, "members": [self._member(at) for at in range(20)], "cache_ts": 1_790_000_000}),
            (r"/api/users.profile.get", {"ok": True, "profile": self._member(3)["profile"]}),
            (r"/v1/search", {**pages, "results": self.pages, "page_or_data_source": {}}),
            (r"/v1/data_sources/[^/]+/query", {**pages, "results": self.pages[:15], "page_or_data_source": {}}),
            (r"/v1/pages/([^/]+)", lambda ask: one(self.pages, "id", ask.found[1])),
            (r"/v1/blocks/([^/]+)/children", lambda ask: {**pages, "type": "block", "block": {}, "results": self.blocks[ask.found[1]]}),
            (r"/rest/api/2/(?:search|search/jql)", {"startAt": 0, "maxResults": 50, "total": 25, "issues": self.tickets}),
            (r"/rest/api/2/issue/([A-Z]+-\d+)", lambda ask: one(self.tickets, "key", ask.found[1])),
            (r"/rest/api/2/project", [self.tickets[0]["fields"]["project"]]),
            (r"/rest/api/2/(?:field|issue/[^/]+/\w+)", []),
            (r"/rest/api/2/(?:myself|serverInfo|user)", self._jira_user(self.people[0])),
            (r"/api/0/organizations/", [org]),
            (r"/api/0/organizations/[^/]+/", org),
            (r"/api/0/organizations/[^/]+/projects/", [project]),
            (r"/api/0/organizations/[^/]+/issues/", self.sentry_issues),
            (r"/api/0/organizations/[^/]+/issues/([^/]+)/", lambda ask: self._sentry(ask.found[1])),
            (r"/api/0/organizations/[^/]+/issues/([^/]+)/events/[^/]+/", lambda ask: self._sentry_event(self._sentry(ask.found[1]))),
            (r"/api/0/organizations/[^/]+/issues/([^/]+)/[\w-]+/", []),
            (r"/api/0/auth/", {"id": "1", "name": "Ada", "email": "ada@example.com"}),
            (r"/api", {"kind": "APIVersions", "versions": ["v1"]}),
            (r"/apis", {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}),
            (r"/version", {"major": "1", "minor": "31", "gitVersion": "v1.31.0"}),
            (r"/api/v1", {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource,
                {**resource, "name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace", "shortNames": ["ns"]}]}),
            (r"/api/v1/namespaces", lambda ask: spaces_table if "table" in ask.query["accept"][0].lower() else spaces),
            (r"/api/v1/pods", lambda ask: pods("", ask.query)),
            (r"/api/v1/namespaces/([^/]+)/pods", lambda ask: pods(ask.found[1], ask.query)),
            (r"/api/v1/namespaces/[^/]+/pods/([^/]+)", lambda ask: next(pod for pod in self.pods if pod["metadata"]["name"] == ask.found[1])),
            (r"/api/v1/namespaces/[^/]+/pods/([^/]+)/log", "\n".join(f"{self.when()} INFO {self.prose(1)}" for _ in range(60))),
            (r"/api/search", hits),
            (r"/api/dashboards/uid/([^/]+)", lambda ask: next(found for found in self.dashboards if found["dashboard"]["uid"] == ask.found[1])),
            (r"/api/datasources", [{"id": 1, "uid": f"prom{self.run}", "orgId": 1, "name": "Prometheus", "type": "prometheus",
                "typeName": "Prometheus", "typeLogoUrl": "/public/img/prom.svg", "access": "proxy", "url": "http://prometheus:9090", "user": "",
                "database": "", "basicAuth": False, "isDefault": True, "jsonData": {"httpMethod": "POST"}, "readOnly": False}]),
            (r"/api/(?:frontend/settings|health|org)", {"id": 1, "name": "Main", "version": "11.2.0", "buildInfo": {"version": "11.2.0"}}),
        ]  # fmt: skip
        return listed

    def _sentry(self, key: str) -> dict[str, Any]:
        return next(issue for issue in self.sentry_issues if key in {issue["id"], issue["shortId"]})


def _not_found(path: str) -> Answer:
    return {"message": "Not Found", "path": path}


def _one(listed: list[dict[str, Any]], key: str, value: Any) -> dict[str, Any]:
    return next(found for found in listed if found[key] == value)


def serve(data: StandIn) -> ThreadingHTTPServer:
    """Make an HTTP server on loopback that answers by the data; the caller runs and closes it."""
    routes = [(re.compile(pattern), answer) for pattern, answer in data.routes()]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = urlsplit(self.path)
            query = {**parse_qs(parts.query), "accept": [self.headers.get("Accept", "")]}
            path = parts.path if parts.path.startswith("/api/0/") else parts.path.rstrip("/")
            matched = ((pattern.fullmatch(path), answer) for pattern, answer in routes)
            status, body = 404, _not_found(path)
            for found, answer in matched:
                if found is not None:
                    try:
                        status, body = 200, answer(Asked(found, query)) if callable(answer) else answer
                    except (StopIteration, KeyError):
                        break
                    break
            written = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)
            if status == 404:
                missing.append(f"{self.command} {self.path}")

        do_POST = do_GET  # noqa: N815 (the base class calls it by this name)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    missing: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.missing = missing  # type: ignore[attr-defined]  # read by who looks for paths that are not answered
    return server
