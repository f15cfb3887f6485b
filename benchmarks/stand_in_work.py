# ruff: noqa: E501 (records stand in lines as the documentation of their APIs prints them)
"""Invented records of other services, as the APIs of Notion, Jira, Sentry, Kubernetes and Grafana are documented."""

from __future__ import annotations

from typing import Any

from benchmarks.stand_in_code import NOUNS, CodeRecords


class WorkRecords(CodeRecords):
    """Makes records of one run."""

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
        base, key = "https://jira.example.com", f"{NOUNS[self.run][0][:3].upper()}-{number}"
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
