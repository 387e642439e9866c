package htcondor_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// packaged is a pool in which packages are installed.
type packaged struct {
	*pooltest.Pool
	t *testing.T
}

// makes runs a target of the Makefile.
func makes(t *testing.T, args ...string) (string, error) {
	t.Helper()
	build := exec.Command("make", append([]string{"-s", "-C", pooltest.Root()}, args...)...)
	// Flags of a gate's builds, such as tags, are not a release's.
	build.Env = append(os.Environ(), "GOFLAGS=")
	out, err := build.CombinedOutput()
	return string(out), err
}

// deb builds the negotiator's package of the tree as it is, under a version, and returns its path in the
// pool.
func (p packaged) deb(version string) string {
	p.t.Helper()
	folder := p.t.TempDir()
	out, err := makes(p.t, "release", "DIST="+folder, "VERSION="+version, "TARGETS=linux/"+runtime.GOARCH, "FORMATS=deb")
	require.NoError(p.t, err, out)
	found, err := filepath.Glob(folder + "/condor-backfill-negotiator_*.deb")
	require.NoError(p.t, err)
	require.Len(p.t, found, 1)
	content, err := os.ReadFile(found[0])
	require.NoError(p.t, err)
	inside := "/tmp/" + filepath.Base(found[0])
	require.NoError(p.t, os.WriteFile(p.Dir+inside, content, 0o644)) //nolint:gosec // apt reads it as a user of its own
	return inside
}

// patient runs a command in the pool as root, whose scripts may wait for a negotiator's cycles, and returns
// all that it prints.
func (p packaged) patient(args ...string) (string, error) {
	p.t.Helper()
	return p.ran(filepath.Join(pooltest.Root(), "integration/htcondor/pool.sh"), append([]string{"exec", p.Dir}, args...)...)
}

// whileDown runs a command in the chroot of a pool that is down.
func (p packaged) whileDown(args ...string) (string, error) {
	p.t.Helper()
	return p.ran("unshare", append([]string{
		"--mount", "--pid", "--fork", "--kill-child", "--mount-proc=" + p.Dir + "/proc", "chroot", p.Dir,
		"/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
	}, args...)...)
}

func (p packaged) ran(name string, args ...string) (string, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	p.t.Logf("%v:\n%s", args, out)
	return string(out), err
}

// must is patient with a command that succeeds.
func (p packaged) must(args ...string) string {
	p.t.Helper()
	out, err := p.patient(args...)
	require.NoError(p.t, err, out)
	return out
}

// negotiator returns the ad of the one negotiator that matches.
func (p packaged) negotiator() pooltest.Ad {
	p.t.Helper()
	ads := p.Ads("-negotiator")
	require.Len(p.t, ads, 1)
	return ads[0]
}

// stock requires that HTCondor's own negotiator is at work alone and starts jobs, with the factor that bob
// was given and what alice has used.
func (p packaged) stock() {
	p.t.Helper()
	require.Empty(p.t, p.negotiator().Text("BackfillPolicy"))
	require.Empty(p.t, p.Ads("-any", "-constraint", `MyType == "BackfillObserver"`))
	require.NoFileExists(p.t, p.Dir+setupFile)
	p.WaitDone(2*time.Minute, p.Submit("dave", sleep(1, 1, 1))...)
	known := accounts(p.Pool)
	require.InDelta(p.t, 77, known["bob@pool.test"].Factor, 0)
	require.Positive(p.t, known["alice@pool.test"].Used)
}

// restart has condor_master start the negotiator that is configured, and waits until it is at work.
func (p packaged) restart() {
	p.t.Helper()
	p.must("sh", "-c", "condor_off -daemon negotiator && condor_reconfig && condor_on -daemon negotiator")
	p.Wait("a negotiator of ours", time.Minute, func() bool {
		ads := p.Ads("-negotiator")
		return len(ads) == 1 && ads[0].Text("BackfillPolicy") != ""
	})
}

const setupFile = "/etc/condor/config.d/zz-backfill.conf"

// TestPackage installs the negotiator's package in a pool with HTCondor's own negotiator, and follows the
// guide: observe, live, upgrade, remove. Whatever takes it away, HTCondor's own negotiator is back with its
// accounting, or the package stays and says why.
func TestPackage(t *testing.T) {
	t.Parallel()
	pooltest.Need(t)
	if out, err := makes(t, "pack"); err != nil {
		t.Skipf("skipped: installing the package on a real pool, as nfpm cannot be built: %v\n%s", err, out)
	}
	p := packaged{pooltest.Start(t, "CPUS=2", "EXTRA=BACKFILL_DEFAULT_ESTIMATE = 60"), t}
	older, newer := p.deb("v0.1.0"), p.deb("v0.2.0")
	const name = "condor-backfill-negotiator"
	p.WaitDone(time.Minute, p.Submit("alice", sleep(1, 1, 1))...)
	p.As("root", "condor_userprio", "-setfactor", "bob@pool.test", "77")
	first := p.negotiator().Int("DaemonStartTime")

	// To install it, also twice, changes nothing.
	require.Contains(t, p.must("apt-get", "install", "-y", older), "nothing of your pool has changed")
	require.Contains(t, p.must("dpkg", "-i", older), "nothing of your pool has changed")
	require.Contains(t, p.must("negotiator", "policies", "--plugin-dir", "/usr/lib/condor-backfill"),
		"/usr/lib/condor-backfill/backfill-easy")
	p.must("negotiator", "plugin", "check", "--quick", "/usr/lib/condor-backfill/backfill-easy")
	p.stock()
	require.Equal(t, first, p.negotiator().Int("DaemonStartTime"))

	// An observer is started anew by an upgrade, and taken away with the package; the pool's goes on.
	p.must("negotiator", "setup", "--observe")
	require.Contains(t, p.must("dpkg", "-i", newer), "plans beside HTCondor's own negotiator")
	require.Len(t, p.Ads("-any", "-constraint", `MyType == "BackfillObserver"`), 1)
	require.Contains(t, p.must("dpkg", "-r", name), "HTCondor's own negotiator is at work: ")
	p.Wait("the observer's end", time.Minute, func() bool {
		return len(p.Ads("-any", "-constraint", `MyType == "BackfillObserver"`)) == 0
	})
	p.stock()
	require.Equal(t, first, p.negotiator().Int("DaemonStartTime"))

	// Live, a job is started by ours, and runs on under the next version, and under HTCondor's own negotiator.
	p.must("apt-get", "install", "-y", older)
	p.must("negotiator", "setup", "--live")
	require.NotEmpty(t, p.negotiator().Text("BackfillPolicy"))
	runs := p.Submit("bob", sleep(600, 1, 1))
	p.WaitStatus(pooltest.Running, time.Minute, runs...)
	before := p.negotiator().Int("DaemonStartTime")
	require.Contains(t, p.must("apt-get", "install", "-y", newer), "plans and matches")
	require.NotEmpty(t, p.negotiator().Text("BackfillPolicy"))
	require.Greater(t, p.negotiator().Int("DaemonStartTime"), before)
	require.Contains(t, p.must("dpkg", "-r", name), "HTCondor's own negotiator is at work: ")
	p.stock()
	p.WaitStatus(pooltest.Running, time.Minute, runs...)
	p.As("bob", "condor_rm", runs[0].String())

	// What came along goes back, with what was used and set meanwhile.
	p.must("apt-get", "install", "-y", newer)
	p.must("negotiator", "setup", "--live", "--move-accounting")
	p.As("root", "condor_userprio", "-setfactor", "carol@pool.test", "5000")
	p.WaitDone(2*time.Minute, p.Submit("carol", sleep(2, 1, 1))...)
	out := p.must("apt-get", "purge", "-y", name)
	require.Contains(t, out, "export-accounting")
	require.Contains(t, out, "/var/spool/condor/backfill, guarantees, usage and what was learned, stays")
	require.NoDirExists(t, p.Dir+"/etc/condor-backfill")
	p.stock()
	require.InDelta(t, 5000, accounts(p.Pool)["carol@pool.test"].Factor, 0)
	require.Positive(t, accounts(p.Pool)["carol@pool.test"].Used)

	// What setup did not do it does not undo: the package stays, and says why.
	p.must("apt-get", "install", "-y", older)
	byHand := p.Dir + "/etc/condor/config.d/60-backfill.conf"
	line := func(text string) {
		require.NoError(t, os.WriteFile(byHand, []byte(text+"\n"), 0o644)) //nolint:gosec // every daemon reads it
	}
	line("NEGOTIATOR = /usr/bin/negotiator")
	require.Contains(t, p.must("dpkg", "-i", older), "start it anew by hand: condor_restart -daemon negotiator")
	out, err := p.patient("dpkg", "-r", name)
	require.Error(t, err)
	require.Contains(t, out, "was not set by negotiator setup: take that line out first")
	require.Contains(t, out, "condor-backfill-negotiator stays installed")
	require.Contains(t, p.must("dpkg", "-s", name), "ok installed")
	p.restart()
	require.NoError(t, os.Remove(byHand))
	require.Contains(t, p.must("dpkg", "-r", name), "HTCondor's own negotiator is at work: ", "condor_master was not told")
	p.stock()

	// A link of the name by which condor_who finds negotiators is set by hand, too.
	p.must("apt-get", "install", "-y", older)
	p.must("ln", "-s", "/usr/bin/negotiator", "/usr/local/sbin/condor_negotiator")
	line("NEGOTIATOR = /usr/local/sbin/condor_negotiator")
	require.Contains(t, p.must("dpkg", "-i", older), "start it anew by hand: condor_restart -daemon negotiator")
	out, err = p.patient("dpkg", "-r", name)
	require.Error(t, err)
	require.Contains(t, out, "was not set by negotiator setup: take that line out first")

	// Of several on one machine setup knows one; the others are named.
	line("NEGOTIATOR_EAST = /usr/bin/negotiator")
	p.must("negotiator", "setup", "--live")
	require.Contains(t, p.must("dpkg", "-i", older), "start NEGOTIATOR_EAST anew by hand: condor_off -daemon NEGOTIATOR_EAST")
	out, err = p.patient("dpkg", "-r", name)
	require.Error(t, err)
	require.Contains(t, out, "setup\" did not set up: NEGOTIATOR_EAST = /usr/bin/negotiator.")
	require.NotEmpty(t, p.negotiator().Text("BackfillPolicy"))
	require.NoError(t, os.Remove(byHand))
	p.must("negotiator", "setup", "--back")
	p.stock()

	// While HTCondor is down the file goes alone.
	p.must("negotiator", "setup", "--live")
	p.Down()
	out, err = p.whileDown("dpkg", "-i", newer)
	require.NoError(t, err, out)
	require.Contains(t, out, "HTCondor does not run on this machine: the backfill negotiator will be at work when it starts")
	out, err = p.whileDown("dpkg", "-r", name)
	require.NoError(t, err, out)
	require.Contains(t, out, "HTCondor does not run on this machine: the negotiator of HTCondor will be at work when it starts")
	p.Up()
	p.stock()
}
