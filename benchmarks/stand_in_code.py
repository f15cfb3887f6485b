# ruff: noqa: E501 (records stand in lines as the documentation of their APIs prints them)
"""Invented records of code hosts and chats, as the APIs of GitHub, GitLab and Slack are documented to send them."""

from __future__ import annotations

import random
from typing import Any, Final

NOUNS: Final = {
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


class CodeRecords:
    """Makes records of one run, whose number seeds them."""

    def __init__(self, run: int) -> None:
        self.run = run
        self.chance = random.Random(f"stand-in {run}")  # noqa: S311 (the same data every time)
        self.people = [f"{first}-{last}" for first in _FIRST[run] for last in _LAST]
        self.owner, self.repo = f"{NOUNS[run][0]}-labs", f"{NOUNS[run][1]}-service"

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
        return self.chance.choice(NOUNS[self.run])

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
