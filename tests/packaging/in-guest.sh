#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a virtual machine whose first process is systemd: the packages as their units run them.
# One line for each check on the serial line, and "end" at the end.
exec >/dev/ttyS0 2>&1
export PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name: $*"
		systemctl --no-pager --lines 20 status cleaved.service cleaved.socket
	fi
}

# within SECONDS COMMAND...
within() {
	left=$1
	shift
	until "$@"; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 1
	done
}

property() {
	systemctl show -P "$2" "$1"
}

is() {
	[ "$1" = "$2" ]
}

are_active() {
	systemctl --quiet is-active cleaved.service && systemctl --quiet is-active cleaved.socket
}

install_from() {
	dpkg -i "$1"/*.deb >/tmp/dpkg.log 2>&1 || cat /tmp/dpkg.log
}

agent() {
	property cleaved.service MainPID
}

# The files that the agent itself can write.
can_write() {
	nsenter -t "$(agent)" -m sh -c "echo 1 >$1" 2>/dev/null
}

cannot_write() {
	! can_write "$1"
}

# The lease's number and the number of its process, while it is attached.
lease() {
	cleave ps -o json | tr -d ' \n' | grep -o '"id":"l[0-9a-f]*"\|"pid":[0-9]*' | tr '\n' ' '
}

is_attached() {
	lease | grep -q '"id".*"pid"'
}

has_restarted() {
	[ "$(property cleaved.service NRestarts)" -ge "$1" ]
}

is_still() {
	is_attached && is "$(lease)" "$held"
}

is_in_journal() {
	journalctl --quiet --output cat CLV_LEASE_NAME=steps CLV_EVENT="$1" | grep -q .
}

# A client that calls while the agent restarts.
call_on() {
	for _ in 1 2 3 4 5 6 7 8; do
		cleave devices --socket /run/cleave/api.sock >/dev/null || echo refused
	done >/tmp/calls 2>&1
}

is_nothing_left() {
	[ ! -e /run/cleave ] && [ -z "$(find / /run/lock -xdev -name '*cleave*' \
		! -path '/opt/*' ! -path '/tmp/*')" ]
}

install_from /opt/packages
check "both units run after the install" within 30 are_active
check "the unit's filter is on" grep -q '^Seccomp:.*2' "/proc/$(agent)/status"
check "the PCI bus can be written" can_write /sys/bus/pci/rescan
check "the kernel's settings cannot" cannot_write /proc/sys/kernel/panic_on_oops
check "nor can control groups" cannot_write /sys/fs/cgroup/cgroup.procs
check "nor can programs" cannot_write /usr/bin/x

mkfifo /tmp/orders
runuser -u tenant -- cleave run --name steps --share 0.5 -- /opt/steps --mode sync \
	--kernel 5000 </tmp/orders >/tmp/answers 2>&1 &
exec 3>/tmp/orders
echo run >&3
check "a user's program gets a share" within 120 is_attached
held=$(lease)

before=$(agent) since=$(property cleaved.socket ActiveEnterTimestampMonotonic)
install_from /opt/next
check "an upgrade restarts the agent" [ "$(agent)" != "$before" ]
check "and not the socket" is "$(property cleaved.socket ActiveEnterTimestampMonotonic)" "$since"
check "the lease and its program are the same" within 30 is_still

systemctl kill --kill-who main -s KILL cleaved.service
check "an agent that crashed is started again" within 30 has_restarted 1
check "the lease is still the same" within 30 is_still
kill -STOP "$(agent)"
check "one that hangs as well" within 60 has_restarted 2
check "the lease is the same after that" within 30 is_still
check "the journal finds the lease" is_in_journal lease_adopted

cleave release --force steps
systemctl --quiet stop cleaved.service
check "who calls starts the agent" cleave devices --socket /run/cleave/api.sock

systemctl --quiet stop cleaved.socket cleaved.service
systemctl --quiet mask --runtime cleaved.socket
systemctl start cleaved.service
check "without its unit the socket is kept" within 10 is \
	"$(property cleaved.service NFileDescriptorStore)" 1
call_on &
systemctl restart cleaved.service
wait $!
check "and no caller is refused" [ ! -s /tmp/calls ]
systemctl --quiet unmask --runtime cleaved.socket

rm -r /etc/systemd/system/cleaved.service.d
dpkg --purge cleave-agent cleave cleave-gate-opencl cleave-gate-cuda cleave-gate-hip libcleave-dev \
	libcleave0 >/dev/null 2>&1
check "a purge leaves nothing" is_nothing_left
echo end
systemctl poweroff --force
