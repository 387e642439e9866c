package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

func copyAll(to io.Writer, from io.Reader) (int64, error) { return io.Copy(to, from) }

// contextOf makes a context that ends when a channel is closed.
func contextOf(done <-chan struct{}) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-done
		cancel()
	}()
	return ctx
}

func TestInherit(t *testing.T) {
	const secret = "0123456789abcdef"
	t.Setenv(inherit, "42 <127.0.0.1:9618?sock=master_1> 0 SharedPort:/var/lock/condor/negotiator*7*0 0")
	t.Setenv(privateInherit, "SessionKey:parent#[Encryption=\"YES\";]"+secret+
		" FamilySessionKey:family:1#[CryptoMethods=\"AES\";]"+secret)
	require.True(t, Inherited())
	got, err := Inherit()
	require.NoError(t, err)
	require.Equal(t, 42, got.Parent)
	require.Equal(t, "master_1", got.Address.Sock)
	require.Equal(t, "parent", got.Session.ID)
	require.Equal(t, "family:1", got.Family.ID)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", got, got, got), secret)
	require.False(t, Inherited(), "no child sees it")
	for _, entry := range os.Environ() {
		require.NotContains(t, entry, secret)
	}

	got, err = parseInheritance("", "")
	require.NoError(t, err)
	require.Zero(t, got)
	for public, private := range map[string]string{
		"x <a:1>": "", "42": "", "42 nowhere": "", "0 <a:1>": "",
		"1 <a:1>": "SessionKey:" + secret, "2 <a:1>": "FamilySessionKey:a#[" + secret,
	} {
		_, err = parseInheritance(public, private)
		require.Error(t, err, public)
		require.NotContains(t, err.Error(), secret)
	}
}

func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NegotiatorLog")
	l, err := OpenLog(path, Rotation{Size: 20, Keep: 1}, false)
	require.NoError(t, err)
	say := func(text string) {
		_, failed := l.Write([]byte(text + "\n"))
		require.NoError(t, failed)
	}
	read := func(path string) string {
		text, failed := os.ReadFile(path)
		require.NoError(t, failed)
		return string(text)
	}
	say("first line")
	say("second line")
	require.Equal(t, "first line\n", read(path+".old"))
	require.Equal(t, "second line\n", read(path))
	say("third line")
	require.Equal(t, "second line\n", read(path+".old"))
	require.NoError(t, os.Rename(path, path+".moved"))
	require.NoError(t, l.Reopen(path, Rotation{Size: 20, Keep: 2}))
	for i := range 5 {
		say(strings.Repeat("x", 15) + strconv.Itoa(i))
	}
	kept, err := filepath.Glob(path + ".2*")
	require.NoError(t, err)
	require.LessOrEqual(t, len(kept), 2)
	require.Contains(t, read(path), "x4")
	require.NoError(t, l.Reopen(path, Rotation{Keep: 1}))
	for range 10 {
		say("it grows for ever")
	}
	require.Greater(t, len(read(path)), 150)
	require.ErrorContains(t, l.Reopen(filepath.Join(path, "no", "folder"), Rotation{}), "open the log")
	require.NoError(t, l.Reopen(path+".else", Rotation{}))
	say("elsewhere")
	require.Equal(t, "elsewhere\n", read(path+".else"))
	require.NoError(t, l.Close())
	_, err = OpenLog(filepath.Join(path, "no", "folder"), Rotation{}, true)
	require.ErrorContains(t, err, "open the log")
}

// TestLogFileOfADay: each period has a file of its own, whatever its size, and old ones bear the time of
// its beginning. What an earlier process has written counts by when it wrote last.
func TestLogFileOfADay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "NegotiatorLog")
	now := time.Date(2026, 11, 30, 23, 59, 58, 0, time.UTC)
	open := func(r Rotation, afresh bool) *LogFile {
		l, err := OpenLog(path, r, afresh)
		require.NoError(t, err)
		l.now = func() time.Time { return now }
		return l
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	l := open(Rotation{Every: 24 * time.Hour, Keep: 1}, false)
	for _, line := range []string{"monday, in time\n", "just in time\n", "tuesday\n"} {
		_, err := l.Write([]byte(line))
		require.NoError(t, err)
		now = now.Add(time.Second)
	}
	require.Equal(t, "monday, in time\njust in time\n", read(path+".old"))
	require.Equal(t, "tuesday\n", read(path))
	require.NoError(t, l.Close())

	now = now.Add(24 * time.Hour)
	require.NoError(t, os.Chtimes(path, now.Add(-25*time.Hour), now.Add(-25*time.Hour)))
	l = open(Rotation{Every: 24 * time.Hour, Keep: 3}, false)
	_, err := l.Write([]byte("wednesday\n"))
	require.NoError(t, err)
	began := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).Local().Format("20060102T150405")
	require.Equal(t, "tuesday\n", read(path+"."+began), "last written to on monday")
	require.Equal(t, "wednesday\n", read(path))
	require.NoError(t, l.Close())

	l = open(Rotation{}, true)
	require.Empty(t, read(path))
	_, err = l.Write([]byte("afresh\n"))
	require.NoError(t, err)
	require.Equal(t, "afresh\n", read(path))
	require.NoError(t, l.Close())
}

// TestBanner finds in the log what condor_who 23.9 looks for (scan_a_log_for_info in who.cpp), in the
// order in which it reads: backwards.
func TestBanner(t *testing.T) {
	log := &buffer{}
	for _, line := range Banner(77, "<127.0.0.1:9>") {
		NewLogger(hclog.Info, log).Info(line)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	slices.Reverse(lines)
	require.Len(t, lines, 4)
	_, address, _ := strings.Cut(lines[0], " DaemonCore: command socket at ")
	require.Equal(t, "<127.0.0.1:9>", address)
	require.Contains(t, lines[1], " ** Log last touched ")
	_, pid, _ := strings.Cut(lines[2], " ** PID = ")
	require.Equal(t, "77", pid)
	require.Contains(t, lines[3], " (CONDOR_NEGOTIATOR) STARTING UP")
}

func TestLevel(t *testing.T) {
	for text, want := range map[string]hclog.Level{
		"": hclog.Info, "D_MATCH": hclog.Info, "D_FULLDEBUG": hclog.Debug, "D_MATCH D_FULLDEBUG D_PID": hclog.Debug,
		"D_ALL": hclog.Trace, "D_MATCH:2": hclog.Trace, "-D_FULLDEBUG": hclog.Info,
	} {
		require.Equal(t, want, Level(strings.Fields(text)), text)
	}
}

func TestMatches(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "D_MATCH": true, "D_MATCH D_CATEGORY D_SUB_SECOND": true, "d_match:2": true, "D_ALL": true,
		"D_FULLDEBUG": false, "D_ALL -D_MATCH": false,
	} {
		require.Equal(t, want, Matches(strings.Fields(text)), text)
	}
}

func TestOwner(t *testing.T) {
	t.Setenv("CONDOR_IDS", "")
	owner, err := Owner("64.65")
	require.NoError(t, err)
	require.Equal(t, 64, owner.UID)
	require.Equal(t, 65, owner.GID)
	t.Setenv("CONDOR_IDS", "7.8")
	owner, err = Owner("64.65")
	require.NoError(t, err)
	require.Equal(t, 7, owner.UID, "the environment comes first")
	for _, wrong := range []string{"7", "a.b", "-1.2", "7."} {
		t.Setenv("CONDOR_IDS", wrong)
		_, err = Owner("")
		require.ErrorContains(t, err, "must be UID.GID", wrong)
	}
}

// TestDamagedState checks that a damaged database is moved aside.
func TestDamagedState(t *testing.T) {
	folder, log := t.TempDir(), &buffer{}
	path := filepath.Join(folder, databaseFile)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 5000)), 0o600))
	s, err := OpenState(t.Context(), folder, logTo(log))
	require.NoError(t, err)
	saved, err := s.Saved()
	require.NoError(t, err)
	require.Nil(t, saved)
	require.Contains(t, log.String(), "THE STATE IS DAMAGED")
	aside, err := filepath.Glob(path + ".damaged-*")
	require.NoError(t, err)
	require.Len(t, aside, 1)
	require.NoError(t, s.Close())
}

func TestLedger(t *testing.T) {
	folder := t.TempDir()
	s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	saved := &track.SavedState{
		Now: 5, Policy: "pc", Guarantees: true, Slots: []track.SavedSlot{{Name: "a", Capacity: backfill.Vector{1}}},
		Jobs: []track.SavedJob{{Schedd: "s", Cluster: 1, Standing: backfill.Standing{Promised: true, Guarantee: 9}}, {Schedd: "s", Cluster: 2}},
		Displaced: []track.SavedDisplaced{{
			Job: observe.JobKey{Schedd: "s", Cluster: 2}, By: observe.JobKey{Schedd: "s", Cluster: 1}, Name: "1.0", User: "bob", Slot: "a",
			Reason: preempt.StartdRank, Decided: 3, End: 4,
		}, {Job: observe.JobKey{Schedd: "s", Cluster: 3}, Name: "0.0", Slot: "a", Reason: preempt.UserPriority}},
	}
	require.NoError(t, s.Save(saved))
	require.NoError(t, s.Save(saved), "nothing is new")
	saved.Jobs, saved.Displaced, saved.Now = saved.Jobs[:1], saved.Displaced[:1], 6
	require.NoError(t, s.Save(saved))
	require.NoError(t, s.Close())

	s, err = OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	again, err := s.Saved()
	require.NoError(t, err)
	require.Equal(t, saved, again)
	require.NoError(t, s.Forget(io.ErrUnexpectedEOF))
	again, err = s.Saved()
	require.NoError(t, err)
	require.Nil(t, again)
	require.NoError(t, s.Forget(io.ErrUnexpectedEOF), "nothing is left to forget")
	require.NoError(t, s.Close())
}

// TestNewerState checks that the state of a newer version is refused, and that of older ones is
// read.
func TestNewerState(t *testing.T) {
	s, err := OpenState(t.Context(), t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // a test's
	for version, known := range map[int]bool{0: true, track.SavedVersion: true, track.SavedVersion + 1: false} {
		require.NoError(t, s.Save(&track.SavedState{Version: version, Now: 5}))
		_, err = s.Saved()
		if known {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "written by a newer version")
		}
	}
}

func TestCollectors(t *testing.T) {
	for list, want := range map[string][]string{
		"pool.test":               {"<pool.test:9618>"},
		"[::1], [::2]:9, ::3":     {"<[::1]:9618>", "<[::2]:9>", "<[::3]:9618>"},
		"a:9?sock=c 10.0.0.1:700": {"<a:9?sock=c>", "<10.0.0.1:700>"},
	} {
		all, err := (&Site{Config: condorconfig.Parse("COLLECTOR_HOST = "+list, "")}).Collectors()
		require.NoError(t, err, list)
		var got []string
		for _, a := range all {
			got = append(got, a.String())
		}
		require.Equal(t, want, got)
	}
	_, err := (&Site{Config: condorconfig.Parse("COLLECTOR_HOST = a:b", "")}).Collectors()
	require.ErrorContains(t, err, "COLLECTOR_HOST: a:b")
	_, err = (&Site{Config: condorconfig.Parse("COLLECTOR_HOST = a:0", "")}).Collectors()
	require.ErrorContains(t, err, "the file COLLECTOR_ADDRESS_FILE, which is not set")
	s := &Site{Config: condorconfig.Parse("", ""), Settings: config.ForPool("htcondor://[::1]")}
	all, err := s.Collectors()
	require.NoError(t, err)
	require.Equal(t, "<[::1]:9618>", all[0].String())
}

// TestTimeout: HTCondor's timeout counts where a file sets it.
func TestTimeout(t *testing.T) {
	for place, want := range map[string]time.Duration{"<Default>": 0, "/etc/condor/config.d/9.conf, line 1": 7 * time.Second} {
		c := condorconfig.Parse("NEGOTIATOR_TIMEOUT = 7\n # at: "+place+"\n", "")
		s, err := c.Settings("")
		require.NoError(t, err)
		client, err := (&Site{Config: c, Settings: s}).Client()
		require.NoError(t, err)
		require.Equal(t, want, client.Timeout)
		require.Equal(t, 7*time.Second, s.Timeout)
	}
}

// TestPreferredCollector: the collectors of one host come first, in their order, by name or by address.
func TestPreferredCollector(t *testing.T) {
	const three = "COLLECTOR_HOST = far.test, 127.0.0.1:7, NEAR.test:8, localhost:9\n"
	for knobs, want := range map[string][]string{
		"FULL_HOSTNAME = near.test":                  {"NEAR.test:8", "far.test:9618", "127.0.0.1:7", "localhost:9"},
		"FULL_HOSTNAME = elsewhere.test":             {"far.test:9618", "127.0.0.1:7", "NEAR.test:8", "localhost:9"},
		"COLLECTOR_HOST_FOR_NEGOTIATOR = localhost":  {"127.0.0.1:7", "localhost:9", "far.test:9618", "NEAR.test:8"},
		"COLLECTOR_HOST_FOR_NEGOTIATOR = NEAR.test ": {"NEAR.test:8", "far.test:9618", "127.0.0.1:7", "localhost:9"},
	} {
		all, err := (&Site{Config: condorconfig.Parse(three+knobs, "")}).Collectors()
		require.NoError(t, err)
		for i, a := range all {
			require.Equal(t, "<"+want[i]+">", a.String(), knobs)
		}
	}
}

// TestLocateCollector reads the address that a collector has written down, and reads it anew when the
// collector has another one.
func TestLocateCollector(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	config := condorconfig.Parse("COLLECTOR_HOST = a:0\nCOLLECTOR_ADDRESS_FILE = "+file, "")
	all, err := (&Site{Config: config}).Collectors()
	require.NoError(t, err)
	require.Equal(t, []cedar.Address{{Host: "a"}}, all)
	_, err = LocateCollector(config)
	require.ErrorContains(t, err, file+": no such file or directory: has the collector been started?")
	for _, address := range []string{"<10.0.0.1:700?noUDP&sock=collector>", "<10.0.0.1:701>"} {
		require.NoError(t, os.WriteFile(file, []byte(address+"\n$CondorVersion: 23.9.6 $\n"), 0o644))
		found, wrong := LocateCollector(config)
		require.NoError(t, wrong)
		require.Equal(t, address, found.String())
	}
	require.NoError(t, os.Chmod(file, 0o666))
	_, err = LocateCollector(config)
	require.ErrorIs(t, err, errUntrusted)
}

// TestMasterMoves finds condor_master behind a shared port that started late, or moved; an address of
// another condor_master is not taken for it.
func TestMasterMoves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	const late, moved = "<10.0.0.1:0?sock=master_5_0210>", "<10.0.0.1:700?addrs=10.0.0.1-700&noUDP&sock=master_5_0210>"
	for _, c := range []struct{ told, written, want string }{
		{late, "", late},
		{late, moved, moved},
		{"<10.0.0.1:9618?sock=master_5_0210>", moved, moved},
		{late, "<10.0.0.1:700?sock=master_6_0211>", late},
		{"<10.0.0.1:9618>", "<10.0.0.1:700>", "<10.0.0.1:9618>"},
	} {
		told, err := cedar.ParseAddress(c.told)
		require.NoError(t, err)
		s := &Site{
			Config:    condorconfig.Parse("MASTER_ADDRESS_FILE = "+file, ""),
			Inherited: Inheritance{Parent: 5, Address: told},
		}
		require.NoError(t, os.WriteFile(file, []byte(c.written+"\n"), 0o644))
		master, ok := s.Master(nil).(client.Master)
		require.True(t, ok)
		require.Equal(t, c.want, master.Address().String(), c)
	}
}

// TestADeadMachineDoesNotAnswer: where nothing takes a connection, as at a machine without power, there is
// no daemon; where one is taken and nothing is said in time, there is one.
func TestADeadMachineDoesNotAnswer(t *testing.T) {
	dead := func(*testing.T) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	silent := func(t *testing.T) (net.Conn, error) {
		t.Helper()
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		return ours, nil
	}
	for there, connect := range map[bool]func(*testing.T) (net.Conn, error){false: dead, true: silent} {
		synctest.Test(t, func(t *testing.T) {
			c := &security.Client{Name: "NEGOTIATOR"}
			c.Connect = func(context.Context, string) (net.Conn, error) { return connect(t) }
			require.Equal(t, there, Answers(c)(t.Context(), "<10.0.0.1:9618>"))
		})
	}
}

// TestIPv6 opens the command port at an IPv6 address, and sends commands there.
func TestIPv6(t *testing.T) {
	s := &Site{Config: condorconfig.Parse("IP_ADDRESS = ::1\nBIND_ALL_INTERFACES = False\n"+
		"SEC_DEFAULT_AUTHENTICATION_METHODS = CLAIMTOBE\nUID_DOMAIN = test\n"+
		"ALLOW_READ = condor@test/[::1]", "")}
	listener, address, err := s.Listen(t.Context())
	if err != nil {
		t.Skip("skipped: there is no IPv6 here:", err)
	}
	require.Regexp(t, `^<\[::1\]:\d+\?noUDP>$`, address.String())
	var who atomic.Pointer[condorconfig.Permissions]
	who.Store(Permissions(s.Config))
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	guard, err := s.Server(&who)
	require.NoError(t, err)
	go func() { served <- (&server.Port{Security: guard}).Serve(ctx, listener) }()
	c, err := s.Client()
	require.NoError(t, err)
	require.True(t, Answers(c)(ctx, address.String()))
	stream, err := c.Start(ctx, address, 60020, nil) // DC_NOP_READ
	require.NoError(t, err, "its address is allowed")
	stream.Close()
	cancel()
	require.NoError(t, <-served)
}

func TestOrphaned(t *testing.T) {
	require.True(t, orphaned(t.Context(), os.Getppid()+1), "our parent is another process")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, orphaned(ctx, os.Getppid()))
}

func TestClock(t *testing.T) {
	zone := time.FixedZone("EST", -5*3600)
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, zone)
	at := func(t time.Time) backfill.Time { return backfill.Time(t.Unix()) }
	for want, when := range map[string]time.Time{
		"14:05": now.Add(5 * time.Minute), "Nov 23 14:00": now.Add(24 * time.Hour),
		"2027-11-22 14:00": now.AddDate(1, 0, 0),
	} {
		require.Equal(t, want, clock(at(when), at(now), zone))
	}
	require.Equal(t, "the end of time", clock(backfill.Forever, at(now), zone))
}
