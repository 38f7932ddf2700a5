#!/bin/sh
# Fetch axe-core, which looks for what keeps people out of a page: the browser tests run its script in every tab.
set -eu
cd "$(dirname "$0")/../.."
version=4.14.1
[ -f .axe/package/axe.min.js ] && grep -q "\"version\": \"$version\"" .axe/package/package.json && exit 0
command -v npm >/dev/null || { echo "axe-core needs npm: apt-get install -y npm" >&2; exit 1; }
rm -rf .axe && mkdir .axe
npm pack "axe-core@$version" --silent --pack-destination .axe >/dev/null
tar -xzf .axe/axe-core-*.tgz -C .axe package/axe.min.js package/package.json
