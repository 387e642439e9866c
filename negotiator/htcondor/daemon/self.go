package daemon

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// monitor measures how much processor time this process uses.
type monitor struct {
	at    time.Time     // when the last period ended
	cpu   time.Duration // what was used until then
	usage float64       // in that period, in percent
	whole bool          // a period has ended
}

// period is what the usage of processor time is measured over, as in HTCondor's daemons.
const period = time.Minute

// sample returns how much processor time the process used in the last period that is over, in
// percent; before the first is over, since the start. It must be told the time, and what was used by
// then.
func (m *monitor) sample(now time.Time, cpu time.Duration) float64 {
	took := now.Sub(m.at)
	if took <= 0 || m.whole && took < period {
		return m.usage
	}
	m.usage = 100 * (cpu - m.cpu).Seconds() / took.Seconds()
	if took >= period {
		m.at, m.cpu, m.whole = now, cpu, true
	}
	return m.usage
}

// describeSelf adds what HTCondor's daemons tell of their processes to an ad.
func (s *status) describeSelf(ad *classad.ClassAd, now time.Time) {
	image, resident := memory()
	var system syscall.Sysinfo_t
	_ = syscall.Sysinfo(&system) // it cannot fail
	for name, n := range map[string]int64{
		"MonitorSelfTime": now.Unix(), "MonitorSelfAge": int64(now.Sub(s.started).Seconds()),
		"MonitorSelfImageSize": image >> 10, "MonitorSelfResidentSetSize": resident >> 10,
		"MonitorSelfRegisteredSocketCount": sockets(), "MonitorSelfSecuritySessions": int64(s.sessions()),
		"DetectedCpus":   int64(runtime.NumCPU()),
		"DetectedMemory": int64(system.Totalram) * int64(system.Unit) >> 20, //nolint:gosec // it is small
		"RealUid":        int64(syscall.Getuid()),
	} {
		ad.SetInt(name, n)
	}
	ad.SetReal("MonitorSelfCPUUsage", s.monitor.sample(now, CPU()))
	share := func(busy time.Duration, since time.Time) float64 {
		if span := now.Sub(since); span > 0 {
			return min(1, busy.Seconds()/span.Seconds())
		}
		return 0
	}
	ad.SetReal("DaemonCoreDutyCycle", share(s.busy, s.started))
	lately, since := time.Duration(0), s.started
	for _, c := range s.cycles[:min(len(s.cycles), keptCycles)] {
		lately, since = lately+c.End.Sub(c.Began), c.Began
	}
	ad.SetReal("RecentDaemonCoreDutyCycle", share(lately, since))
}

// memory returns the virtual and the resident memory of this process, in bytes; 0 if the system does
// not say.
func memory() (image, resident int64) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, 0
	}
	bytes := func(pages string) int64 {
		n, _ := strconv.ParseInt(pages, 10, 64) // 0 if it is no number
		return n * int64(os.Getpagesize())
	}
	return bytes(fields[0]), bytes(fields[1])
}

// rss returns the resident memory of this process, in bytes; 0 if the system does not say.
func rss() int64 {
	_, resident := memory()
	return resident
}

// CPU returns the processor time that this process has used.
func CPU() time.Duration { return usedBy(syscall.RUSAGE_SELF) }

// usedBy returns the processor time that this process or this thread has used.
func usedBy(whose int) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(whose, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// ofThread is RUSAGE_THREAD.
const ofThread = 1

// Timed runs a function, and returns the processor time that its thread used for it.
func Timed(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := usedBy(ofThread)
	work()
	return usedBy(ofThread) - before
}

// sockets counts the open sockets of this process.
func sockets() (n int64) {
	const folder = "/proc/self/fd"
	open, _ := os.ReadDir(folder) // what can be read of it
	for _, one := range open {
		if to, err := os.Readlink(filepath.Join(folder, one.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
