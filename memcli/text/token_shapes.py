"""Shapes of tokens as data: kind, prefixes, what follows them.

Prefixes, alphabets and lengths are facts that gitleaks (MIT, see docs/notices.md) has collected;
the patterns and what is taken out are our own.
"""

from __future__ import annotations

from typing import Final

SHAPES: Final = """
adobe-secret p8e- [a-z0-9]{32}
airtable-token pat [A-Za-z0-9]{14}\\.[a-f0-9]{64}
alibaba-key LTAI [A-Za-z0-9]{20}
artifactory-key AKCp [A-Za-z0-9]{60,}
atlassian-token ATCTT3 [\\w=+-]{60,}
clojars-token CLOJARS_ [a-z0-9]{60}
digitalocean-token doo_v1_,dop_v1_,dor_v1_ [a-f0-9]{64}
doppler-token dp.pt.,dp.st.,dp.ct.,dp.sa.,dp.scim.,dp.audit. [\\w.-]{30,}
duffel-token duffel_test_,duffel_live_ [\\w=-]{40,}
dynatrace-token dt0c01. [A-Z0-9]{24}\\.[A-Z0-9]{64}
easypost-key EZAK,EZTK [A-Za-z0-9]{54}
flutterwave-key FLWSECK-,FLWSECK_TEST-,FLWPUBK_TEST- [A-Za-z0-9]{12,}
fly-token fo1_,fm1_,fm1r_,fm1a_,fm2_ [\\w+/=,-]{40,}
frameio-token fio-u- [\\w=-]{60,}
grafana-token glc_ [A-Za-z0-9+/=]{32,}
heroku-key HRKU-AA [\\w-]{50,}
hubspot-token pat-na1-,pat-eu1- [a-f0-9-]{36}
infracost-key ico- [A-Za-z0-9]{32}
intra42-secret s-s4t2ud-,s-s4t2af- [a-f0-9]{64}
linear-token lin_oauth_ [A-Za-z0-9]{32,}
mailgun-key key- [a-f0-9]{32}
mapbox-token sk.eyJ [\\w-]{20,}\\.[\\w-]{20,}
neon-key napi_ [a-z0-9]{40,}
netlify-token nfp_ [A-Za-z0-9]{30,}
newrelic-key NRII-,NRJS-,NRRA- [A-Za-z0-9-]{19,}
notion-token secret_ [A-Za-z0-9]{43}
nuget-key oy2 [a-z0-9]{43}
onepassword-token ops_eyJ [\\w+/=-]{100,}
openshift-token sha256~ [\\w-]{43}
prefect-key pnu_,pnb_ [A-Za-z0-9]{36}
pulumi-token pul- [a-f0-9]{40}
razorpay-key rzp_live_ [A-Za-z0-9]{14,}
readme-key rdme_ [a-z0-9]{70}
render-key rnd_ [A-Za-z0-9]{28,}
sendinblue-key xkeysib- [a-f0-9]{64}-[A-Za-z0-9]{16}
settlemint-token sm_aat_,sm_pat_,sm_sat_ [A-Za-z0-9]{16}
shippo-token shippo_live_,shippo_test_ [a-fA-F0-9]{40}
shopify-token shpca_,shppa_ [a-fA-F0-9]{32}
sourcegraph-token sgp_ [\\w-]{40,}
square-token sq0atp-,sq0csp-,sq0idp- [\\w-]{22,}
square-token EAAA [\\w-]{60}
supabase-key sb_secret_ [\\w-]{20,}
tencent-key AKID [A-Za-z0-9]{32}
terraform-token .atlasv1. [\\w=-]{60,}
typeform-token tfp_ [\\w.=-]{59}
vercel-token vcp_,vca_,vci_ [A-Za-z0-9]{24,}
yandex-key AQVN [\\w-]{35,38}
"""
