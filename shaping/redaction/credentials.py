"""The well-known credential formats, specific ones before those that would also match them.

No library was fit to carry them: detect-secrets 1.5 needs some 200 ms per 100 KB and takes a line of text, not a value;
the rule files of gitleaks and trufflehog are for Go engines and have no maintained package for Python.
"""

from __future__ import annotations

from typing import Final

from shaping.redaction.checks import concrete, jwt, mixed, random, snowflake, user_and_password
from shaping.redaction.queries import QUERIES
from shaping.redaction.rules import Rule, Ruleset

_UUID: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_DATABASES: Final = (
    "(?i:postgres|postgresql|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|sqlserver|oracle|clickhouse|cockroachdb"
    "|snowflake|jdbc:[a-z]{2,12}|nats|ldaps?|cassandra|neo4j|bolt)"
)

_GAP: Final = r"(?: |\+|%20)"
PRIVATE_KEY: Final = Rule(
    "private-key",
    rf"-----BEGIN[A-Z0-9 +%]{{0,40}}{_GAP}(?:PRIVATE|SECRET){_GAP}KEY(?:{_GAP}BLOCK)?-----"
    # What follows is a key and not prose about one...
    r"(?=[^A-Za-z0-9]{0,12}(?:[A-Za-z0-9+/=]{16}|(?:[nr][^A-Za-z0-9]{0,3}){0,4}(?:Proc-Type|Version|Comment)))"
    # ...up to its end, or as far as it goes where it was cut.
    r"""(?:(?:[^-]++|-(?!----))*+-----END[^-]{0,60}-----|[A-Za-z0-9+/=\s\\"',%]*)""",
    seed=rf"{_GAP}(?:PRIVATE|SECRET){_GAP}KEY(?:{_GAP}BLOCK)?-----",
)

CLOUD: Final = (
    Rule("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Rule("aws-secret-key", r"[A-Za-z0-9/+]{40}", near=r"(?i:secret[_ -]?(?:access[_ -]?)?key)", check=mixed),
    Rule("aws-secret-key", r"[A-Za-z0-9/+]{40}", near=r"(?i:aws[_ -]?secret)[A-Za-z_]{0,16}", check=mixed),
    Rule("aws-session-token", r"\b(?:IQoJ|FwoG|FQoG)[A-Za-z0-9/+=%]{80,}"),
    Rule("aws-bedrock-key", r"\bABSK[A-Za-z0-9+/]{100,}={0,2}"),
    Rule("google-api-key", r"AIza[A-Za-z0-9_-]{35,}"),
    Rule("google-oauth-token", r"ya29\.[A-Za-z0-9_-]{20,}"),
    Rule("google-oauth-secret", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    Rule("google-refresh-token", r"\b1//0[A-Za-z0-9_-]{30,}"),
    Rule(
        "azure-storage-key",
        r"[A-Za-z0-9+/%]{80,100}(?:={1,2}|%3D%3D)",
        near=r"(?i:(?:account|storage|shared[_ -]?access|primary|secondary)[_ -]?key)",
    ),
    Rule(
        "azure-shared-key",
        r"[A-Za-z0-9+/%]{40,}(?:={1,2}|%3D)",
        near=r"(?i:shared[_ -]?access[_ -]?key|account[_ -]?key)",
        check=mixed,
    ),
    Rule("azure-sas", r"[A-Za-z0-9%+/]{40,}={0,2}", near=r"[?&]sig", check=mixed, hint=r"[?&]sig"),
    Rule("azure-client-secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", seed=r"[0-9]Q~"),
    Rule("digitalocean-token", r"do[opr]_v1_[a-f0-9]{64}"),
    Rule("alibaba-key", r"\bLTAI[A-Za-z0-9]{17,21}", check=mixed),
    Rule(
        "cloudflare-token",
        r"[A-Za-z0-9_-]{37,45}",
        near=r"(?i:(?:cloudflare|cf)[_ -]?(?:global[_ -]?)?(?:api[_ -]?)?(?:key|token))",
        check=random,
    ),
    Rule("cloudflare-origin-key", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{140,}", hint=r"v1\.0-[a-f0-9]{8}"),
    Rule("heroku-key", r"HRKU-[A-Za-z0-9_-]{36,}"),
    Rule("heroku-key", _UUID, near=r"(?i:heroku[_ -]?(?:api[_ -]?)?(?:key|token|secret))"),
    Rule("databricks-token", r"\bdapi[a-f0-9]{32}(?:-[0-9])?", hint=r"dapi[a-f0-9]{6}"),
    Rule("datadog-key", r"[a-f0-9]{32,40}", near=r"(?i:(?:datadog|dd)[_ -]?(?:api|app|application)[_ -]?key)"),
    Rule("terraform-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", seed=r"\.atlasv1\."),
    Rule("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    Rule("vault-token", r"s\.[A-Za-z0-9]{24}", near=r"(?i:vault[_ -]?token)"),
    Rule("doppler-token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    Rule("pulumi-token", r"\bpul-[a-f0-9]{40}"),
    Rule("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    Rule("supabase-key", r"sb(?:p|_secret)_[A-Za-z0-9_-]{20,}", check=random),
    Rule(
        "fly-token",
        r"(?:fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{80,}={0,3})",
        hint=r"fo1_|fm[12][ar]?_",
    ),
    Rule("netlify-token", r"nfp_[A-Za-z0-9]{36,}"),
    Rule(
        "yandex-key",
        r"\b(?:AQVN|YCAJE|YCM)[A-Za-z0-9_-]{30,}",
        check=mixed,
        hint=r"AQVN[A-Za-z0-9]|YCAJE|YCM[A-Za-z0-9_-]{6}",
    ),
    Rule("openshift-token", r"\bsha256~[A-Za-z0-9_-]{43}", check=mixed),
)

DEVELOPMENT: Final = (
    Rule("github-token", r"gh[pousr]_[A-Za-z0-9_]{30,}"),
    Rule("github-token", r"github_pat_[A-Za-z0-9_]{22,}"),
    Rule("gitlab-token", r"gl(?:pat|dt|rt|ptt|ft|imt|agent|soat|cbt|oas|ffct)-[A-Za-z0-9_.=-]{20,}"),
    Rule("gitlab-token", r"GR1348941[A-Za-z0-9_-]{20,}"),
    Rule("bitbucket-token", r"\bATBB[A-Za-z0-9]{28,}", check=mixed),
    Rule("atlassian-token", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    Rule("atlassian-token", r"ATCTT3[A-Za-z0-9_=-]{50,}"),
    Rule("npm-token", r"npm_[A-Za-z0-9]{36,}"),
    Rule("npm-token", _UUID, near=r"_authToken"),
    Rule("pypi-token", r"pypi-[A-Za-z0-9_-]{32,}", check=mixed),
    Rule("rubygems-token", r"rubygems_[a-f0-9]{48}"),
    Rule("nuget-key", r"\boy2[a-z0-9]{43}", check=random, hint=r"oy2[a-z0-9]{8}"),
    Rule("crates-token", r"\bcio[A-Za-z0-9]{32}", check=mixed, hint=r"cio[A-Za-z0-9]{6}"),
    Rule("clojars-token", r"CLOJARS_[a-f0-9]{60}"),
    Rule("docker-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    Rule("artifactory-key", r"\bAKCp[A-Za-z0-9]{60,}"),
    Rule("artifactory-token", r"\bcmVmdGtuOj[A-Za-z0-9]{40,}"),
    Rule("circleci-token", r"CCI(?:PAT|PRJ)_[A-Za-z0-9_]{40,}"),
    Rule("buildkite-token", r"bk(?:ua|aa|ct)_[A-Za-z0-9]{40,}"),
    Rule("sonar-token", r"\bsq[pua]_[a-f0-9]{40}"),
    Rule("sourcegraph-token", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    Rule("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    Rule("grafana-token", r"gl(?:sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|c_[A-Za-z0-9+/]{32,}={0,2})", hint=r"glsa_|glc_"),
    Rule("new-relic-key", r"NR(?:AK|JS|II|RA)-[A-Za-z0-9_-]{19,}", check=random),
    Rule("postman-key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    Rule("figma-token", r"\bfig[dur]_[A-Za-z0-9_-]{30,}", check=random),
    Rule("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    Rule("notion-token", r"ntn_[A-Za-z0-9]{40,}"),
    Rule("notion-token", r"secret_[A-Za-z0-9]{43}", check=mixed, hint=r"secret_[A-Za-z0-9]{12}"),
    Rule("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}", hint=r"pat[A-Za-z0-9]{14}\."),
    Rule("launchdarkly-key", rf"(?:sdk|api|mob)-{_UUID}", hint=r"(?:sdk|api|mob)-[0-9a-fA-F]{8}-"),
    Rule("onepassword-token", r"ops_eyJ[A-Za-z0-9+/=_-]{60,}"),
    Rule("age-key", r"AGE-SECRET-KEY-1[0-9A-Za-z]{50,}"),
    Rule("prefect-key", r"\bpn[ub]_[A-Za-z0-9]{36}", check=random),
)

MODELS: Final = (
    Rule("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    Rule("openrouter-key", r"sk-or-(?:v1-)?[a-f0-9]{40,}"),
    Rule("openai-key", r"\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    Rule("openai-key", r"\bsk-[A-Za-z0-9]{20,}(?:T3BlbkFJ[A-Za-z0-9]{20,})?", check=mixed, hint=r"sk-[A-Za-z0-9]{12}"),
    Rule("deepseek-key", r"\bsk-[a-f0-9]{32}", check=random, hint=r"sk-[a-f0-9]{12}"),
    Rule("huggingface-token", r"\b(?:hf|api_org)_[A-Za-z]{30,}", check=random, hint=r"(?:hf|api_org)_[A-Za-z]{8}"),
    Rule("huggingface-token", r"\bhf_[A-Za-z0-9]{30,}", check=random, hint=r"hf_[A-Za-z0-9]{8}"),
    Rule("replicate-token", r"\br8_[A-Za-z0-9]{37,}", hint=r"r8_[A-Za-z0-9]{6}"),
    Rule("groq-key", r"gsk_[A-Za-z0-9]{40,}"),
    Rule("xai-key", r"\bxai-[A-Za-z0-9]{60,}"),
    Rule("perplexity-key", r"pplx-[A-Za-z0-9]{40,}"),
    Rule("langsmith-key", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
)

SERVICES: Final = (
    Rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{30,})"),
    Rule("slack-token", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    Rule("slack-token", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    Rule("discord-webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<secret>[A-Za-z0-9_-]{50,})"),
    Rule("teams-webhook", r"\.webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{60,})"),
    Rule("stripe-key", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    Rule("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/=]{24,}"),
    Rule("square-token", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    Rule("square-token", r"\bEAAA[A-Za-z0-9_-]{60}", check=mixed),
    Rule("facebook-token", r"\bEAA(?:C|B|G|M)[A-Za-z0-9]{80,}", check=mixed),
    Rule("shopify-token", r"shp(?:at|ca|pa|ss|ua|tka)_[a-fA-F0-9]{32}"),
    Rule("braintree-token", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    Rule("flutterwave-key", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}"),
    Rule("plaid-token", rf"access-(?:sandbox|development|production)-{_UUID}"),
    Rule("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,}", hint=r"SG\.[A-Za-z0-9_-]{8}"),
    Rule("brevo-key", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Rule("mailgun-key", r"\b(?:key|pubkey)-[a-f0-9]{32}", hint=r"key-[a-f0-9]{8}"),
    Rule("mailgun-key", r"[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}", near=r"(?i:mailgun)"),
    Rule("mailchimp-key", r"\b[a-f0-9]{32}-us[0-9]{1,2}", check=random, seed=r"-us[0-9]"),
    Rule("twilio-key", r"\bSK[a-f0-9]{32}", check=random, hint=r"SK[a-f0-9]{6}"),
    Rule("twilio-token", r"[a-f0-9]{32}", near=r"(?i:twilio[_ -]?(?:auth[_ -]?)?(?:token|secret))"),
    Rule(
        "telegram-token",
        r"\b[0-9]{8,10}(?::|%3A)AA[A-Za-z0-9_-]{32,34}",
        check=mixed,
        hint=r"(?::|%3A)AA[A-Za-z0-9_-]{4}",
        seed=r"(?::|%3A)AA[A-Za-z0-9_-]{32}",
    ),
    Rule(
        "discord-token",
        r"\b[MNO][TDjz][A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        check=snowflake,
        seed=r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    ),
    Rule("dropbox-token", r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{120,}", check=mixed, hint=r"sl\.(?:u\.)?[A-Za-z0-9_-]{8}"),
    Rule("mapbox-token", r"\bsk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    Rule("twitter-bearer", r"\bA{20}[A-Za-z0-9%]{60,}", check=mixed, hint=r"A{12}"),
    Rule("okta-token", r"[A-Za-z0-9_-]{40,}", near=r"SSWS", check=random),
    Rule("typeform-token", r"tfp_[A-Za-z0-9_.=-]{40,}"),
    Rule("easypost-key", r"\bEZ[AT]K[a-f0-9]{54}|EZ[AT]K[A-Za-z0-9]{54}"),
)

PLACES: Final = (
    Rule(
        "jwt", r"\beyJ[A-Za-z0-9_-]{8,1024}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*", check=jwt, hint=r"eyJ[A-Za-z0-9_-]+\."
    ),
    Rule(
        "database-url",
        rf"{_DATABASES}(?:\+[a-z0-9]{{1,16}})?://[^ \t\r\n/@:\"'<>]{{0,100}}:"
        r"(?P<secret>[^ \t\r\n\"'<>@]{1,200}(?:@[^ \t\r\n\"'<>@/]{1,100})?)@",
        check=concrete,
        hint=rf"{_DATABASES}(?:\+[a-z0-9]+)?://",
    ),
    Rule(
        "url-password",
        r"://[^ \t\r\n/@:\"'<>?#]{0,100}:(?P<secret>[^ \t\r\n/\"'<>?#]{1,256})@",
        check=concrete,
        hint=r"://[^ \t\r\n/@:\"'<>?#]*:[^ \t\r\n/\"'<>?#]+@",
    ),
    Rule(
        "url-password",
        r"%3A%2F%2F[A-Za-z0-9._~+-]{0,100}%3A(?P<secret>[A-Za-z0-9._~+!*()%-]{1,256}?)%40",
        check=concrete,
    ),
    Rule(
        "basic-auth",
        r"(?i:\bbasic)(?:[ \t\r\n]|%20|\+){1,3}(?P<secret>[A-Za-z0-9+/_-]{2,60}[A-Z0-9=][A-Za-z0-9+/=_-]*)",
        check=user_and_password,
        hint=r"(?i:basic)(?:[ \t\r\n]|%20|\+)+[A-Za-z0-9+/_-]{2,}[A-Z0-9=]",
    ),
    Rule(
        "bearer-token",
        r"(?i:\bbearer)(?:[ \t\r\n]|%20|\+){1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        check=random,
        hint=r"(?i:bearer)(?:[ \t\r\n]|%20|\+)",
    ),
    Rule(
        "authorization",
        r"(?i:(?:token|apikey|api-key|key|digest|negotiate|ntlm|aws4-hmac-sha256)(?:[ \t\r\n]|%20|=){1,3})?"
        r"[A-Za-z0-9._~+/=-]{16,}",
        near=r"(?i:authorization)",
        check=random,
    ),
    Rule(
        "connection-string",
        # In a log of logins, a host is followed by words about passwords too.
        r"(?i:(?:server|data source|host|uid|user id|user|username)=[^=\"'<>]{1,120}[; ](?:password|pwd))"
        r"[ \t]?(?:=|%3[Dd])[ \t\"'\\]{0,3}(?P<secret>[^;\"' \t\r\n<>\\]{1,200})",
        check=concrete,
        hint=r"(?i:[; ](?:password|pwd))",
    ),
)

CREDENTIALS: Final = Ruleset((PRIVATE_KEY, *MODELS, *CLOUD, *DEVELOPMENT, *SERVICES, *PLACES, *QUERIES))
