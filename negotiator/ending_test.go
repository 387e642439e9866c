package negotiator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func TestEarliest(t *testing.T) {
	for _, c := range []struct {
		ends []backfill.Time
		want backfill.Time
	}{
		{nil, 0},
		{[]backfill.Time{0, 0}, 0},
		{[]backfill.Time{0, 7}, 7},
		{[]backfill.Time{9, 0, 7, 8}, 7},
	} {
		require.Equal(t, c.want, negotiator.Earliest(c.ends...), "%v", c.ends)
	}
}

// It is 2001-09-09 01:46:40 UTC, a Sunday.
// pilotShutdown is what pilots of glideinWMS have: they end when they have been idle for a while, and
// when they are to die.
const pilotShutdown = `GLIDEIN_ToDie = 1000030000
GLIDEIN_Max_Tail = 400
Slot1_Activity = "Idle"
Slot1_State = "Unclaimed"
Slot1_ExpectedMachineGracefulDrainingCompletion = 1000000000
DS_TO_DIE = (GLIDEIN_ToDie =!= UNDEFINED) && (CurrentTime > GLIDEIN_ToDie)
DS_IDLE_TAIL = Slot1_Activity == "Idle" && Slot1_State =!= "Claimed" && ((CurrentTime - Slot1_ExpectedMachineGracefulDrainingCompletion) > GLIDEIN_Max_Tail)
DaemonShutdown = DS_TO_DIE || DS_IDLE_TAIL`

func TestEndOf(t *testing.T) {
	const start = 1_000_000_000
	zone, err := time.LoadLocation("Europe/Paris") // 03:46:40 there
	require.NoError(t, err)
	for name, c := range map[string]struct {
		ad   string
		want int64 // after the start
	}{
		"none":                   {"Cpus = 4", 0},
		"a pilot's":              {"GLIDEIN_ToDie = 1000003600", 3600},
		"a real":                 {"GLIDEIN_ToDie = 1000003600.9", 3600},
		"an expression":          {"DaemonStartTime = 999999000\nGLIDEIN_ToDie = DaemonStartTime + 4600", 3600},
		"no number":              {"GLIDEIN_ToDie = \"soon\"", 0},
		"no date":                {"GLIDEIN_ToDie = 0", 0},
		"the clock's":            {"GLIDEIN_ToDie = time() + 3600", 0},
		"past":                   {"GLIDEIN_ToDie = 999999999", 999999999},
		"far":                    {"GLIDEIN_ToDie = 1e18", 0},
		"shutdown":               {"DaemonShutdown = CurrentTime > 1000003600", 3601},
		"fast":                   {"DaemonShutdownFast = time() >= Until\nUntil = 1000003600", 3600},
		"both":                   {"DaemonShutdown = time() >= 1000007200\nDaemonShutdownFast = time() >= 1000003600", 3600},
		"earlier":                {"GLIDEIN_ToDie = 1000003600\nDaemonShutdown = time() >= 1000001800", 1800},
		"later":                  {"GLIDEIN_ToDie = 1000003600\nDaemonShutdown = time() >= 1000007200", 3600},
		"age":                    {"DaemonStartTime = 999999000\nDaemonShutdown = time() - DaemonStartTime > 86400", 85401},
		"in ten days":            {"DaemonShutdown = CurrentTime > 1000864000", 864001},
		"now":                    {"DaemonShutdown = true", 1},
		"false":                  {"DaemonShutdown = false", 0},
		"idle":                   {"State = \"Unclaimed\"\nEnteredCurrentState = 1000000000\nDaemonShutdown = State == \"Unclaimed\" && time() - EnteredCurrentState > 600", 0},
		"idle, by another name":  {"Activity = \"Idle\"\nDaemonShutdown = Idle\nIdle = Activity == \"Idle\"", 0},
		"idle, or old":           {"State = \"Unclaimed\"\nDaemonShutdown = State == \"Unclaimed\" || time() > 1000000599", 600},
		"idle, as pilots say it": {pilotShutdown, 30_000},
		"not claimed":            {"State = \"Claimed\"\nDaemonShutdown = !(State =?= \"Claimed\") && time() > 5", 0},
		"no jobs":                {"DaemonShutdown = (NumDynamicSlots ?: 0) == 0 && isUndefined(JobStarts)", 0},
		"by a text":              {"State = \"Claimed\"\nDaemonShutdown = eval(\"State\") =!= \"Claimed\"", 0},
		"by a name, or old": {"DaemonShutdown = Old || Idle\nIdle = Activity =?= \"Idle\"\n" +
			"Old = time() > 1000000599 && Enough\nEnough = true", 600},
		"local time":            {"DaemonShutdown = formatTime(time(), \"%H%M%S\") >= \"200005\"", (20-3)*3600 - 46*60 - 40 + 5},
		"the startd's clock":    {"MyCurrentTime = 1000000000\nClockMin = 106\nDaemonShutdown = ClockMin >= 20 * 60", (20*60-106)*60 - 40},
		"until monday":          {"MyCurrentTime = 1000000000\nClockMin = 106\nClockDay = 0\nDaemonShutdown = ClockDay == 1", 86400 - 106*60 - 40},
		"chance":                {"DaemonShutdown = random() < 0.5", 0},
		"of a target":           {"DaemonShutdown = TARGET.Owner == \"me\"", 0},
		"in a circle":           {"DaemonShutdown = DaemonShutdownFast\nDaemonShutdownFast = DaemonShutdown", 0},
		"too expensive":         {"DaemonShutdown = " + strings.Repeat("time() > 1 && ", 600) + "time() > 1000003600", 0},
		"expensive to look for": {"DaemonShutdown = " + strings.Repeat("formatTime(time()) != \"\" && ", 100) + "time() > 1000600000", 0},
	} {
		t.Run(name, func(t *testing.T) {
			ad, err := classad.ParseOld("Name = \"slot1@host\"\n" + c.ad)
			require.NoError(t, err)
			before := ad.String()
			got := negotiator.DefaultSchema().EndOf(ad, start, zone)
			if got > start {
				got -= start
			}
			require.Equal(t, c.want, got)
			require.Equal(t, before, ad.String())
		})
	}
}

func TestEndOfByOtherAttributes(t *testing.T) {
	s := negotiator.DefaultSchema()
	ad, err := classad.ParseOld("GLIDEIN_ToDie = 3600\nMaintenance = 1800\nOdd = \"x\"\nDaemonShutdown = time() >= 9000")
	require.NoError(t, err)
	for want, attributes := range map[int64][]string{
		3600: {"GLIDEIN_ToDie", "Maintenance"},
		1800: {"Odd", "Maintenance", "GLIDEIN_ToDie"},
		9000: nil,
	} {
		s.SlotEnds = attributes
		require.Equal(t, want, s.EndOf(ad, 7, nil))
	}
}

// The end is the first second at which the naive reading finds DaemonShutdown true.
func TestEndOfIsTheFirstSecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{
			"time() > N", "time() % 1000 >= N % 1000", "CurrentTime - 500 >= N", "N < time() && time() % 60 == 0",
			"formatTime(time(), \"%H%M\") == formatTime(N, \"%H%M\")", "time() / 600 > N / 600", "!(time() < N)",
			"time() * 2 > N || time() > N", "ifThenElse(time() > N, true, false)", "interval(time()) == interval(N) || time() > N",
		}).Draw(t, "shutdown")
		now := rapid.Int64Range(1, 5000).Draw(t, "now")
		ad, err := classad.ParseOld("DaemonShutdown = " + text)
		require.NoError(t, err)
		ad.SetInt("N", rapid.Int64Range(0, 9000).Draw(t, "n"))
		var want int64
		for at := now; at < now+20_000 && want == 0; at++ {
			host := classad.Host{Now: func() int64 { return at }}
			if (classad.Scope{My: ad, Host: &host}).Attr("DaemonShutdown").IsTrue() {
				want = at
			}
		}
		if want == now {
			want = 1
		}
		require.Equal(t, want, negotiator.DefaultSchema().EndOf(ad, now, nil))
	})
}
