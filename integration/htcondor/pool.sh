#!/bin/bash
# A throw-away HTCondor pool on this machine, for tests: Debian's minicondor in a chroot, on loopback only.
#
#   pool.sh setup   DIR [NAME=VALUE…]   a new chroot, from the cache; the first one is made (a minute) and cached
#   pool.sh start   DIR [NAME=VALUE…]   write the configuration and start; settings are remembered in DIR
#   pool.sh run     DIR [NAME=VALUE…]   the same in the foreground: ends with the pool, and kills it when killed
#   pool.sh stop    DIR                 running jobs go back to the queue
#   pool.sh status  DIR                 daemons, slots, queue; exit code 1 when the pool is down
#   pool.sh destroy DIR                 stop and delete
#   pool.sh config  DIR [NAME=VALUE…]   write the configuration again and have the daemons read it
#   pool.sh kill    DIR DAEMON [SIGNAL] kill (SIGKILL) collector, negotiator, schedd, s2, startd, n1, shadow, starter…
#   pool.sh exec    DIR COMMAND…        run a command in the pool as root
#   pool.sh as      DIR USER COMMAND…   … as alice, bob, carol, dave or condor, in its home
#   pool.sh check                       can this machine have a pool? exit code 1 and the reason when not
#   pool.sh cache                       make the chroot that all pools are copied from, if it is not there
#
# Settings, as arguments of setup, start, run and config:
#   PORT=9618             of the collector and everything else (shared port)
#   NODES=0               0: one startd; n: n startds n1… that play n machines (slot1@n1@pool.test)
#   CPUS=8 MEMORY=16384   of each startd, in cores and MiB; not the real ones
#   SLOTS=partitionable   partitionable, consumption (the same with a consumption policy) or static (of one core)
#   SCHEDDS=1             2: another schedd s2@pool.test, and so on
#   SECURITY=default      default, fs, idtokens, claimtobe (one method alone) or host (no authentication needed)
#   NEGOTIATOR=stock      stock, none, or the path inside the chroot of a program for condor_master to start
#   NEGOTIATOR_ARGS=      its arguments
#   EXTRA=                more lines of configuration, after all others
#
# The pool lives in namespaces of its own: nothing is mounted on the machine, and when its first process dies so do all
# others. Users alice, bob, carol and dave have tokens, and condor has one in DIR/etc/condor/tokens.d/condor@pool.
# The cache is in ${XDG_CACHE_HOME:-/var/cache}/condor-backfill; delete it to have everything made anew.
set -euo pipefail

SUITE=trixie HOST=pool.test
USERS="alice bob carol dave"
SETTINGS="PORT NODES CPUS MEMORY SLOTS SCHEDDS SECURITY NEGOTIATOR NEGOTIATOR_ARGS EXTRA"
PORT=9618 NODES=0 CPUS=8 MEMORY=16384 SLOTS=partitionable SCHEDDS=1 SECURITY=default NEGOTIATOR=stock NEGOTIATOR_ARGS='' EXTRA=''
CACHE=${XDG_CACHE_HOME:-/var/cache}/condor-backfill

say() { echo "pool.sh: $*" >&2; }
die() { say "$@"; exit 2; }

check() {
	[ "$(id -u)" = 0 ] || die "a pool needs root"
	[ -e /etc/debian_version ] || die "a pool needs a Debian machine, for debootstrap and its mirror"
	unshare --mount --pid --fork --mount-proc true 2>/dev/null || die "a pool needs namespaces, and this machine does not allow them"
	[ -s "$CACHE/$SUITE.tar" ] || mirror >/dev/null
}

mirror() { # the Debian mirror that this machine uses itself
	local found
	found=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' 'Identifier: Packages' 2>/dev/null | awk '$2 == "Debian" && !/security/ {print $1; exit}')
	[ -n "$found" ] || found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE '[a-z+]+://[^] ]+/debian/?' | head -1)
	[ -n "$found" ] || die "no Debian mirror in this machine's apt sources"
	echo "$found"
}

# isolated COMMAND: as root in a chroot without a running pool.
isolated() {
	unshare --mount --pid --fork --kill-child --mount-proc="$1/proc" sh -c 'mount --rbind /dev "$1/dev" && exec chroot "$@"' sh "$@"
}
CLEAN=(/usr/bin/env -i "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8)

make_cache() { # a chroot with everything that pools have in common
	local log=$CACHE/setup.log new
	mkdir -p "$CACHE"
	exec 9>"$CACHE/lock"
	flock 9
	if [ -s "$CACHE/$SUITE.tar" ]; then return; fi
	say "making a Debian chroot with HTCondor, once, in $CACHE (a minute or two; log: $log)"
	new=$(mktemp -d "$CACHE/new.XXXXXX")
	# shellcheck disable=SC2064
	trap "rm -rf --one-file-system '$new'" EXIT
	{
		command -v debootstrap >/dev/null || { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; }
		chmod 755 "$new"
		debootstrap --variant=minbase "$SUITE" "$new" "$(mirror)"
		printf '#!/bin/sh\nexit 101\n' >"$new/usr/sbin/policy-rc.d" # no daemon starts by being installed
		chmod 755 "$new/usr/sbin/policy-rc.d"
		cp /etc/resolv.conf "$new/etc/resolv.conf"
		isolated "$new" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get update && apt-get install -y --no-install-recommends minicondor procps && apt-get clean'
		local u id=2001
		for u in $USERS; do isolated "$new" useradd -m -u $id -s /bin/bash "$u"; id=$((id + 1)); done
		rm -rf "$new"/var/lib/apt/lists/* "$new"/usr/share/doc/* "$new"/usr/share/man/* "$new"/usr/share/locale/*
		tar -C "$new" --one-file-system -cf "$CACHE/$SUITE.tar.part" .
		mv "$CACHE/$SUITE.tar.part" "$CACHE/$SUITE.tar"
	} >"$log" 2>&1 || { tail -5 "$log" >&2; die "cannot make the chroot; see $log"; }
	rm -rf --one-file-system "$new"
	trap - EXIT
	exec 9>&-
}

setup() {
	[ ! -e "$D/etc" ] || die "there is something in $D already; destroy it first"
	check
	make_cache
	mkdir -p "$D"
	tar -C "$D" -xf "$CACHE/$SUITE.tar"
	echo "127.0.0.1 $HOST localhost $(hostname)" >"$D/etc/hosts"
	configure
	# shellcheck disable=SC2016
	isolated "$D" "${CLEAN[@]}" bash -euc '
		install -d -m 700 /etc/condor/passwords.d /etc/condor/tokens.d
		(umask 077; head -c 64 /dev/urandom >/etc/condor/passwords.d/POOL; condor_token_create -identity "condor@$0" >/etc/condor/tokens.d/condor@pool)
		for u; do
			install -d -m 700 -o "$u" -g "$u" "/home/$u/.condor" "/home/$u/.condor/tokens.d"
			token=/home/$u/.condor/tokens.d/pool
			(umask 077; condor_token_create -identity "$u@$0" >"$token"; chown "$u:$u" "$token")
		done' "$HOST" $USERS
}

init() { # the machine's pid of the pool's first process; nothing when the pool is down
	local p
	p=$(cat "$D/pool.pid" 2>/dev/null) && p=$(pgrep -P "$p") && [ "$(readlink "/proc/$p/root")" = "$D" ] && echo "$p"
}

inside() { # inside USER COMMAND…: in the running pool
	local pid user=$1
	shift
	pid=$(init) || die "the pool in $D is down; start it"
	nsenter -t "$pid" --mount --pid chroot --userspec="$user" "$D" "${CLEAN[@]}" "$@"
}

ready() { # wait until every startd and schedd has reported, at most a minute
	local i startds=$((NODES > 0 ? NODES : 1))
	for i in $(seq 240); do
		sleep 0.25
		init >/dev/null || [ "$i" -lt 8 ] || { tail -5 "$D/var/log/condor/MasterLog" "$D/pool.log" >&2; die "the pool died as it started"; }
		[ "$(inside root condor_status -af Machine Name 2>/dev/null | sed 's/.*slot[0-9_]*@//' | sort -u | wc -l)" -ge "$startds" ] || continue
		[ "$(inside root condor_status -schedd -af Name 2>/dev/null | wc -l)" -ge "$SCHEDDS" ] && return
	done
	die "not all daemons reported within a minute; logs: $D/var/log/condor"
}

run() {
	[ -x "$D/usr/sbin/condor_master" ] || die "no pool in $D; run setup first"
	! init >/dev/null || die "the pool in $D runs already"
	if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then die "port $PORT is taken; choose another PORT"; fi
	configure
	echo $$ >"$D/pool.pid"
	# shellcheck disable=SC2016
	exec unshare --mount --pid --fork --kill-child --mount-proc="$D/proc" sh -c '
		mount --rbind /dev "$1/dev" && mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" && exec chroot "$@"' sh "$D" "${CLEAN[@]}" \
		bash -c 'install -d -o condor -g condor /run/condor /var/lock/condor; condor_master -f & trap "kill -QUIT $!" TERM; wait; wait' >"$D/pool.log" 2>&1 </dev/null
}

start() {
	setsid "$0" run "$D" "${assignments[@]}" &
	sleep 0.5
	ready
	say "runs on 127.0.0.1:$PORT: security $SECURITY, negotiator $NEGOTIATOR"
}

stop() {
	local i pid
	pid=$(init) || return 0
	# The startds first: their jobs are evicted and go back to the queue.
	inside root pkill -QUIT -x condor_startd || true
	for i in $(seq 40); do inside root pgrep -x condor_startd >/dev/null || break; sleep 0.25; done
	sleep 0.5
	kill -TERM "$pid" 2>/dev/null || true
	for i in $(seq 40); do init >/dev/null || return 0; sleep 0.25; done
	kill -KILL "$pid"
}

status() {
	init >/dev/null || { echo "down: $D"; exit 1; }
	echo "up: $D on 127.0.0.1:$PORT, security $SECURITY, negotiator $NEGOTIATOR"
	inside root condor_status -any -af:t MyType Name MyAddress
	inside root condor_status -af:th Name State Activity Cpus Memory JobId
	inside root condor_q -global -allusers -totals | sed '/^$/d'
}

destroy() {
	[ -e "$D" ] || return 0
	[ -e "$D/etc/condor" ] || [ -z "$(ls -A "$D")" ] || die "$D is no pool; not deleted"
	stop
	rm -rf --one-file-system "$D"
}

config() {
	configure
	inside root condor_reconfig -all >/dev/null
}

kill_daemon() {
	local pattern signal=${2:-KILL} among=()
	case "$1" in
	n[0-9]*) pattern="condor_startd .*-n $1\$" ;;
	s[0-9]*) pattern="condor_schedd .*-local-name $1\$" ;;
	# what condor_master was told to start, by any file of its configuration; not its children, nor one that observes
	negotiator)
		pattern=$(inside root condor_config_val NEGOTIATOR) || die "no NEGOTIATOR is configured in $D"
		pattern="${pattern##*/}( |\$)"
		among=(-P "$(inside root pgrep -o -x condor_master)")
		;;
	schedd) pattern='condor_schedd( -f)?$' ;;
	*) pattern="condor_$1( |\$)" ;;
	esac
	inside root pkill "-$signal" "${among[@]}" -f "^([^ ]*/)?$pattern" || die "no $1 runs in $D"
}

configure() {
	local k i condor daemons="MASTER COLLECTOR"
	condor=$(awk -F: '$1 == "condor" {print $3 ":" $4}' "$D/etc/passwd")
	for k in PORT NODES CPUS MEMORY SCHEDDS; do [[ ${!k} =~ ^[0-9]+$ ]] || die "$k must be a number, not '${!k}'"; done
	case "$SLOTS" in partitionable | consumption | static) ;; *) die "SLOTS: partitionable, consumption or static" ;; esac
	case "$SECURITY" in default | fs | idtokens | claimtobe | host) ;; *) die "SECURITY: default, fs, idtokens, claimtobe or host" ;; esac
	case "$NEGOTIATOR" in stock | none | /*) ;; *) die "NEGOTIATOR: stock, none, or an absolute path inside the chroot" ;; esac
	for k in $SETTINGS; do printf '%s=%q\n' "$k" "${!k}"; done >"$D/pool.settings"

	[ "$NEGOTIATOR" = none ] || daemons+=" NEGOTIATOR"
	daemons+=" SCHEDD"
	for ((i = 2; i <= SCHEDDS; i++)); do daemons+=" SCHEDD_S$i"; done
	if [ "$NODES" = 0 ]; then daemons+=" STARTD"; fi
	for ((i = 1; i <= NODES; i++)); do daemons+=" STARTD_N$i"; done
	{
		cat <<-CONF
			# Written by pool.sh; give settings to it instead of editing.
			NETWORK_HOSTNAME = $HOST
			UID_DOMAIN = $HOST
			FILESYSTEM_DOMAIN = $HOST
			CONDOR_HOST = 127.0.0.1
			NETWORK_INTERFACE = 127.0.0.1
			BIND_ALL_INTERFACES = False
			ENABLE_IPV6 = False
			COLLECTOR_HOST = 127.0.0.1:$PORT
			SHARED_PORT_PORT = $PORT
			DAEMON_LIST = $daemons
			DC_DAEMON_LIST = +$(for k in $daemons; do case $k in *_*) echo -n " $k" ;; esac; done)
			NUM_CPUS = $CPUS
			MEMORY = $MEMORY
			RUNBENCHMARKS = 0
			# jobs run at once, and nothing ends them early
			START = True
			SUSPEND = False
			WANT_SUSPEND = False
			PREEMPT = False
			PREEMPTION_REQUIREMENTS = False
			KILL = False
			RANK = 0
			# quick, for tests
			NEGOTIATOR_INTERVAL = 5
			NEGOTIATOR_MIN_INTERVAL = 1
			NEGOTIATOR_CYCLE_DELAY = 2
			BACKFILL_CYCLE_DELAY = 1
			NEGOTIATOR_UPDATE_AFTER_CYCLE = True
			SCHEDD_INTERVAL = 5
			UPDATE_INTERVAL = 5
			UNUSED_CLAIM_TIMEOUT = 5
			JOB_DEFAULT_LEASE_DURATION = 20
			ALIVE_INTERVAL = 3
			CLAIM_WORKLIFE = 0
			CLAIM_PARTITIONABLE_LEFTOVERS = False
			MASTER_BACKOFF_CONSTANT = 1
			MASTER_BACKOFF_CEILING = 5
			# every event of every job in one file, which the audit reads
			EVENT_LOG = \$(LOG)/EventLog
			EVENT_LOG_MAX_SIZE = 0
			EVENT_LOG_FORMAT_OPTIONS = JSON, SUB_SECOND
			EVENT_LOG_FSYNC = False
			# a chroot has no cgroups and its root is no mount point: run jobs plainly
			STARTER_ALLOW_RUNAS_OWNER = True
			DISCARD_SESSION_KEYRING_ON_STARTUP = False
			PER_JOB_NAMESPACES = False
			MOUNT_UNDER_SCRATCH =
			MOUNT_PRIVATE_DEV_SHM = False
			BASE_CGROUP =
			# gangs (universe = parallel)
			DedicatedScheduler = "DedicatedScheduler@\$(FULL_HOSTNAME)"
			STARTD_ATTRS = \$(STARTD_ATTRS) DedicatedScheduler
			SCHEDD_DEBUG = D_MATCH
			NEGOTIATOR_DEBUG = D_MATCH
		CONF
		if [ "$SLOTS" = static ]; then
			printf '%s\n' 'NUM_SLOTS_TYPE_1 = $(NUM_CPUS)' 'SLOT_TYPE_1 = cpus=1,auto' 'SLOT_TYPE_1_PARTITIONABLE = False'
		else
			printf '%s\n' 'NUM_SLOTS_TYPE_1 = 1' 'SLOT_TYPE_1 = 100%' 'SLOT_TYPE_1_PARTITIONABLE = True'
		fi
		if [ "$SLOTS" = consumption ]; then printf '%s\n' 'CONSUMPTION_POLICY = True' 'CONSUMPTION_MEMORY = quantize(target.RequestMemory,{1})'; fi
		for ((i = 1; i <= NODES; i++)); do
			cat <<-CONF
				STARTD_N$i = \$(STARTD)
				STARTD_N${i}_ARGS = -f -local-name n$i -n n$i
				n$i.STARTD_LOG = \$(LOG)/StartLog.n$i
				n$i.STARTER_LOG = \$(LOG)/StarterLog.n$i
				n$i.STARTD_ADDRESS_FILE = \$(LOG)/.startd_address.n$i
				n$i.STARTD_CLAIM_ID_FILE = \$(LOG)/.startd_claim_id.n$i
				n$i.EXECUTE = /var/lib/condor/execute.n$i
			CONF
			install -d -o "${condor%:*}" -g "${condor#*:}" "$D/var/lib/condor/execute.n$i"
		done
		for ((i = 2; i <= SCHEDDS; i++)); do
			cat <<-CONF
				SCHEDD_S$i = \$(SCHEDD)
				SCHEDD_S${i}_ARGS = -f -local-name s$i
				s$i.SCHEDD_NAME = s$i@$HOST
				s$i.SCHEDD_LOG = \$(LOG)/SchedLog.s$i
				SCHEDD_S${i}_ENVIRONMENT = "_CONDOR_EVENT_LOG=\$(LOG)/EventLog.s$i _CONDOR_SHADOW_LOG=\$(LOG)/ShadowLog.s$i"
				s$i.SPOOL = /var/spool/condor.s$i
				s$i.HISTORY = /var/spool/condor.s$i/history
				s$i.SCHEDD_ADDRESS_FILE = /var/spool/condor.s$i/.schedd_address
				s$i.SCHEDD_DAEMON_AD_FILE = /var/spool/condor.s$i/.schedd_classad
			CONF
			install -d -o "${condor%:*}" -g "${condor#*:}" "$D/var/spool/condor.s$i"
		done
		case "$NEGOTIATOR" in /*) printf '%s\n' "NEGOTIATOR = $NEGOTIATOR" "NEGOTIATOR_ARGS = $NEGOTIATOR_ARGS" ;; esac
		case "$SECURITY" in
		fs | idtokens | claimtobe) echo "SEC_DEFAULT_AUTHENTICATION_METHODS = ${SECURITY^^}" ;;
		host) printf 'SEC_DEFAULT_%s = OPTIONAL\n' AUTHENTICATION ENCRYPTION INTEGRITY && echo 'SEC_DEFAULT_AUTHENTICATION_METHODS = FS' ;;
		esac
		case "$SECURITY" in
		claimtobe) printf '%s\n' 'SEC_CLAIMTOBE_INCLUDE_DOMAIN = False' 'TRUST_LOCAL_UID_DOMAIN = True' ;;
		esac
		case "$SECURITY" in
		claimtobe | host) printf 'ALLOW_%s = *\n' READ WRITE DAEMON NEGOTIATOR ADVERTISE_STARTD ADVERTISE_SCHEDD ADVERTISE_MASTER CLIENT ;;
		esac
		printf '%s\n' "$EXTRA"
	} >"$D/etc/condor/config.d/99-pool.conf"
}

verb=${1:-}
case "$verb" in
"" | -h | --help | help) sed -n '2,/^set/p' "$0" | grep '^#' | sed 's/^# \{0,1\}//'; exit 0 ;;
check) check; exit 0 ;;
cache) check; make_cache; exit 0 ;;
setup | start | run | stop | status | destroy | config | kill | exec | as) ;;
*) die "unknown verb '$verb' (try --help)" ;;
esac
[ $# -ge 2 ] || die "$verb needs a directory (try --help)"
[ "$(id -u)" = 0 ] || die "a pool needs root"
D=$(readlink -m "$2")
case "$D" in / | /usr* | /etc* | /var | /home | /root | /boot*) die "refusing to use $D" ;; esac
shift 2
if [ -e "$D/pool.settings" ]; then . "$D/pool.settings"; fi
assignments=()
case "$verb" in
setup | start | run | config)
	assignments=("$@")
	for a; do
		case " $SETTINGS " in *" ${a%%=*} "*) printf -v "${a%%=*}" '%s' "${a#*=}" ;; *) die "unknown setting '${a%%=*}' (try --help)" ;; esac
	done
	;;
esac
case "$verb" in
exec) inside root "$@" ;;
as)
	[ $# -ge 2 ] || die "as DIR USER COMMAND…"
	user=$1
	shift
	# shellcheck disable=SC2016
	inside "$user" "USER=$user" sh -c 'HOME=$(getent passwd "$USER" | cut -d: -f6); export HOME; cd "$HOME" && exec "$@"' sh "$@"
	;;
kill) kill_daemon "$@" ;;
*) "$verb" ;;
esac
