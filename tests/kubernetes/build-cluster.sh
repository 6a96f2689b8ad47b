#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the programs of Kubernetes 1.20 for the tests kubernetes-scheduler and kubernetes-cluster,
# from Debian's source package, into ~/.cache/cleave/kubernetes.  It takes 2 GB there and, on two
# cores, up to an hour.  Packages that it needs: golang-1.19-go, dpkg-dev; the first test also needs
# etcd-server, the other one debootstrap.
set -eu

fail() {
	echo "build-cluster: $*" >&2
	exit 1
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/cleave/kubernetes
go=/usr/lib/go-1.19/bin/go
[ -x "$go" ] || fail "there is no $go: install golang-1.19-go"

# Go 1.19 builds this version only below GOPATH.
export GOPATH="$cache/gopath" GOCACHE="$cache/gocache" GO111MODULE=off CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:--p=1}"
tree=$GOPATH/src/k8s.io/kubernetes
mkdir -p "$cache/bin" "${tree%/*}"

if [ ! -d "$tree" ]; then
	# A list of sources of its own, because few machines have one of Debian 12's.
	mkdir -p "$cache/lists"
	echo "deb-src http://deb.debian.org/debian bookworm main" >"$cache/sources.list"
	set -- -qq -o "Dir::Etc::SourceList=$cache/sources.list" -o Dir::Etc::SourceParts=- \
		-o "Dir::State::Lists=$cache/lists"
	(cd "$cache" && apt-get "$@" update && apt-get "$@" source --download-only kubernetes)
	mkdir -p "$cache/new"
	tar -xzf "$cache"/kubernetes_*.orig.tar.gz -C "$cache/new" --strip-components=1
	mv "$cache/new" "$tree"
fi
cd "$tree"

# The package for JSON calls Go's iterator of maps as Go 1.17 had it.  With a later Go an API server
# crashes, at the latest when it records the patch of a webhook for its audit.
reflect=vendor/github.com/modern-go/reflect2
parameters='rtype unsafe.Pointer, m unsafe.Pointer, it *hiter'
values='type2.rtype, *(*unsafe.Pointer)(obj), \&it'
if ! grep -qF "$parameters" "$reflect/unsafe_link.go"; then
	sed -i -e "s/^func mapiterinit(.*/func mapiterinit($parameters)/" \
		-e '/^type hiter struct/,/^}/s|// rest.*|rest [12]unsafe.Pointer|' \
		"$reflect/unsafe_link.go"
	sed -i -e '/^\treturn &UnsafeMapIterator{/i\	var it hiter' \
		-e "/^\treturn &UnsafeMapIterator{/i\\\\tmapiterinit($values)" \
		-e 's/hiter:      mapiterinit(.*),/hiter:      \&it,/' "$reflect/unsafe_map.go"
	rm -f "$cache/bin/kube"*
fi

# The version that a release has, which nodes and the API server report.
version=k8s.io/kubernetes/vendor/k8s.io/component-base/version
flags="-X $version.gitVersion=v1.20.2 -X $version.gitMajor=1 -X $version.gitMinor=20"

build() {
	[ -x "$cache/bin/${1##*/}" ] && return
	echo "build ${1##*/}"
	nice -n 10 "$go" build -tags providerless -ldflags "$flags" -o "$cache/bin/" "$1"
}

build ./cmd/kube-scheduler

# The API server's types as OpenAPI: Debian's package has the generator, not its output.
generated=pkg/generated/openapi/zz_generated.openapi.go
if [ ! -e "$generated" ]; then
	build ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
	packages=$(grep -Rl '+k8s:openapi-gen=' --include='*.go' vendor/k8s.io pkg cmd |
		grep -v 'code-generator\|sample-apiserver\|/generated/' | xargs -n1 dirname |
		LC_ALL=C sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd,)
	"$cache/bin/openapi-gen" --logtostderr -i "$packages" \
		-p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
		-h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r /dev/null
fi
build ./cmd/kube-apiserver
build ./cmd/kube-controller-manager
build ./cmd/kubelet
