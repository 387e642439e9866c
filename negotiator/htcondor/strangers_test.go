package htcondor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// longText is a text that is longer than a key of the state file may be.
var longText = strings.Repeat("x", 33<<10)

// oddJobs are lines that one user's job has, and others' have not. A name that is bad is judged, and
// its job not planned.
var oddJobs = map[string]struct{ lines, why string }{
	"a group with a blank":     {`AccountingGroup = "a b"`, "its AccountingGroup: "},
	"a long group":             {`AccountingGroup = "` + strings.Repeat("g", 4200) + `"`, "its AccountingGroup: "},
	"a group of 200 letters":   {`AccountingGroup = "` + strings.Repeat("g", 200-len("@test")) + `"`, "its AccountingGroup: "},
	"a group of 33 kB":         {`AccountingGroup = "` + longText + `"`, "its AccountingGroup: "},
	"a group with a tab":       {"AccountingGroup = \"a\tb\"", "its AccountingGroup: "},
	"a group that is no UTF-8": {"AccountingGroup = \"a\xff\"", "its AccountingGroup: "},
	"a user with a blank":      {`User = "a b@test"`, "its User: "},
	"a user of 33 kB":          {`User = "` + longText + `"`, "its User: "},
	"no user":                  {`User = undefined`, "its User: "},
	"a user that is a number":  {`User = 7`, "its User: "},
	"an owner with a blank":    {`Owner = "a b"`, "its Owner: "},
	"a long project":           {`ProjectName = "` + longText + `"`, "its ProjectName: "},
	"a QOS of two lines":       {"QOS = \"a\x01b\"", "its QOS: "},
	"a long AcctGroup":         {`AcctGroup = "` + longText + `"`, "its AcctGroup: "},
	"the end of a queue":       {"Owner = 0", ""},
	"all of the end of a queue": {
		"Owner = 0\nErrorCode = 0\nServerTime = 1\nMyType = \"Summary\"\nMyName = \"x\"\nAllusersJobs = 5", "",
	},
	"an error of a schedd": {"Owner = 0\nErrorCode = 7\nErrorString = \"no\"", ""},
	"a long gang scheduler": {
		"JobUniverse = 11\nScheduler = \"" + longText + `"`, "",
	},
}

// crowd is a world in which ninety-nine jobs of alice wait, with room for all of them.
func crowd(t *testing.T) (*world, *accountant.Accountant) {
	t.Helper()
	var nodes []*node
	for i := range 12 {
		nodes = append(nodes, &node{name: fmt.Sprint("n", i+1), cpus: 10, memory: 10 * 128, policy: true})
	}
	w := newWorld(t, "conservative", nodes...)
	a := w.account(map[string]string{"GROUP_NAMES": "g", "GROUP_QUOTA_G": "50", "PRIORITY_HALFLIFE": "10"})
	for i := range 99 {
		group := ""
		if i%2 == 1 && i < 80 {
			group = "g.alice"
		}
		w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000, group: group})
	}
	return w, a
}

// runs requires that the ninety-nine jobs run, and that alice is charged for them.
func (w *world) crowdRuns(a *accountant.Accountant) {
	w.t.Helper()
	w.pass(12)
	for _, j := range w.jobs[:99] {
		require.Equal(w.t, 1, j.runs, "%d.0", j.cluster)
	}
	use := w.pool.Use()
	require.Equal(w.t, accountant.Use{Slots: 59, Weight: 59}, use["alice@test"])
	require.Equal(w.t, accountant.Use{Slots: 40, Weight: 40}, use["g.alice@test"])
	require.Greater(w.t, a.Priority("alice@test"), 5*1000.0, "she is charged")
	require.Greater(w.t, a.Priority("g.alice@test"), 5*1000.0)
}

// TestOneOddJobInAHundred says that nothing which one job's ad has keeps ninety-nine others from
// being planned, started and charged, after a restart too, whether the odd job waits or runs; and
// that a job that runs under a bad name is charged to somebody.
func TestOneOddJobInAHundred(t *testing.T) {
	for what, odd := range oddJobs {
		t.Run(what, func(t *testing.T) {
			w, a := crowd(t)
			waits := w.submit(&sleeper{cpus: 1, seconds: 1000, owner: "eve", extra: "\n" + odd.lines})
			w.crowdRuns(a)
			if odd.why != "" {
				require.Zero(t, waits.runs)
				ids := w.pool.Find(fmt.Sprintf("%d.0", waits.cluster))
				require.Len(t, ids, 1)
				why, left := w.pool.Why(ids[0])
				require.True(t, left)
				require.Contains(t, why.Why, odd.why)
				require.Less(t, len(why.Why), 500)
			}

			w, a = crowd(t)
			runs := w.submit(&sleeper{cpus: 1, seconds: 1000, owner: "eve", extra: "\n" + odd.lines})
			runs.status, runs.began, runs.at = 2, w.now, map[*node]int{w.nodes[0]: 1}
			w.nodes[0].parts[runs] = 1
			w.crowdRuns(a)
			w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
			w.pass(4)
			use := w.pool.Use()
			require.Equal(t, accountant.Use{Slots: 59, Weight: 59}, use["alice@test"])
			who := "eve@test"
			if odd.why == "its User: " {
				who = "nobody@nowhere"
			}
			if !strings.Contains(odd.lines, "JobUniverse = 11") {
				require.Equal(t, accountant.Use{Slots: 1, Weight: 1}, use[who], "%v", use)
			}
			require.EqualValues(t, 100, w.n.State().Use()[0], "what it has is planned around")
		})
	}
}

// TestOneOddGroupInAHundred says the same of what a schedd sends in one part of its answer.
func TestOneOddGroupInAHundred(t *testing.T) {
	const ids = "JobIds = \"900.0 900.0 900.x -1.5 9223372036854775807.9223372036854775807 99999999999999999999.1  .  \"\n"
	kind := func(status int, more string) string {
		return fmt.Sprintf("User = \"eve@test\"\nJobUniverse = 5\nJobStatus = %d\nRequestCpus = 1\nRequestMemory = 10\n"+
			"Requirements = false\nJobCount = 1\n%s%s", status, ids, more)
	}
	for what, odd := range map[string]string{
		"without jobs":       "User = \"eve@test\"\nJobStatus = 1\nJobCount = 1",
		"ids that are none":  kind(1, ""),
		"of a state unknown": kind(77, ""),
		"of no state":        kind(1, "JobStatus = error\nQDate = error\n"),
		"running nowhere":    kind(2, "RemoteHost = \""+longText+",slot1@n1, ,@,\"\n"),
		"suspended forever":  kind(7, "RemoteHost = \"slot1_1@n1\"\nLastSuspensionTime = -9223372036854775808\nCumulativeSuspensionTime = 1e300\n"),
		"deferred forever":   kind(1, "DeferralTime = 9223372036854775807\nDeferralWindow = 9223372036854775807\nDeferralPrepTime = -7\n"),
		"a broken gang":      kind(1, "JobUniverse = 11\nMaxHosts = 3\nJobIds = \"901.2 901.0 901.0 901.7\"\n"),
		"a gang that runs":   kind(2, "JobUniverse = 11\nMaxHosts = 3\nRemoteHosts = \"slot1_1@n1,slot1_1@n1,nowhere\"\nJobIds = \"901.2 901.0 901.0\"\n"),
		"on hold":            kind(5, "JobUniverse = 11\nMaxHosts = 3\nJobIds = \"901.2 901.0\"\n"),
	} {
		t.Run(what, func(t *testing.T) {
			w, a := crowd(t)
			w.odd = map[string][]string{"Group": {odd}}
			w.crowdRuns(a)
			w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
			w.pass(4)
			require.Equal(t, accountant.Use{Slots: 59, Weight: 59}, w.pool.Use()["alice@test"])
		})
	}
}

// oddAds are ads that one stranger sends to the collector, by type.
var oddAds = map[string]map[string]string{
	"a slot with a blank":           {"Machine": machine(`"slot1@a b"`, "")},
	"a slot of 33 kB":               {"Machine": machine(`"slot1@`+longText+`"`, "")},
	"a slot that is no UTF-8":       {"Machine": machine("\"slot1@\xff\"", "")},
	"a slot with a quote":           {"Machine": machine(`"slot1@a\"b"`, "")},
	"a slot whose name is computed": {"Machine": machine(`strcat("slot1@", "n1")`, "")},
	"a slot whose name is a number": {"Machine": machine(`12345`, "")},
	"a slot without a name":         {"Machine": machine(`undefined`, "")},
	"a slot of infinite cpus":       {"Machine": machine(`"slot1@odd"`, "Cpus = 1e300\nTotalSlotCpus = 1e300\n")},
	"a slot of no cpus":             {"Machine": machine(`"slot1@odd"`, "Cpus = -5\n")},
	"a slot of words":               {"Machine": machine(`"slot1@odd"`, "Cpus = \"many\"\nMemory = error\n")},
	"a claim of infinite cpus":      {"Machine": part("Cpus = 1e300\nMemory = 1e18\n")},
	"a claim of many cpus":          {"Machine": part("Cpus = 100000000000000000\n")},
	"a claim of less than nothing":  {"Machine": part("Cpus = -7\nMemory = -7\n")},
	"a claim of words":              {"Machine": part("Cpus = \"many\"\nMemory = real(\"NaN\")\n")},
	"a claim of the future":         {"Machine": part("JobStart = 9223372036854775807\nEnteredCurrentState = -9223372036854775808\n")},
	"a claim of a bad user":         {"Machine": part(`RemoteUser = "` + longText + "\"\nAccountingGroup = \"a b\"\n")},
	"a claim of a bad job":          {"Machine": part("JobId = \"9223372036854775807.-1\"\nGlobalJobId = \"" + longText + "\"\n")},
	"a static claim of odd amounts": {"Machine": machine(`"slot1@odd"`, "State = \"Claimed\"\nCpus = 1e15\nMemory = 1e15\n")},
	"claim ids of a stranger": {
		"Machine":        machine(`"slot1@odd"`, ""),
		"MachinePrivate": "Name = \"slot1@odd\"\nMyAddress = \"<odd>\"\nClaimIdList = { 1, error, \"x\" }\nClaimId = 7",
	},
	"a submitter with a blank":         {"Submitter": submitterAd("a b@test", "odd@test", "<127.0.0.1:1>")},
	"a submitter of 33 kB":             {"Submitter": submitterAd(longText, "odd@test", "<127.0.0.1:1>")},
	"a submitter without a name":       {"Submitter": submitterAd("", "odd@test", "<127.0.0.1:1>")},
	"a submitter of no schedd":         {"Submitter": submitterAd("eve@test", "", "")},
	"a submitter of a schedd of 33 kB": {"Submitter": submitterAd("eve@test", longText, "<127.0.0.1:1>")},
	"a submitter at no address":        {"Submitter": submitterAd("eve@test", "odd@test", "nowhere")},
	"a submitter of another's schedd":  {"Submitter": submitterAd("eve@test", "schedd@test", "<127.0.0.1:1>")},
	"a capability that is none":        {"Submitter": submitterAd("eve@test", "schedd@test", theSchedd)},
	"a capability of nobody": {"Submitter": strings.Replace(submitterAd("eve@test", "schedd@test", theSchedd),
		`Capability = "x"`, "Capability = \""+theSchedd+"#1#x#[Encryption=\\\"YES\\\";ValidCommands=\\\"416\\\";]x\"", 1)},
	"a schedd of 33 kB":       {"Scheduler": scheddAd(longText, "<127.0.0.1:1>")},
	"a schedd of two lines":   {"Scheduler": scheddAd("a\x01b", "<127.0.0.1:1>")},
	"a schedd at no address":  {"Scheduler": scheddAd("odd@test", "nowhere")},
	"a schedd without a name": {"Scheduler": scheddAd("", "<127.0.0.1:1>")},
	"a negotiator of 33 kB":   {"Negotiator": "Name = \"" + longText + "\"\nMyAddress = \"nowhere\"\nDaemonStartTime = -1"},
}

// theSchedd stands for the address of the honest schedd.
const theSchedd = "SCHEDD"

func machine(name, more string) string {
	return "Name = " + name + "\nMachine = \"odd\"\nMyAddress = \"<odd>\"\nState = \"Unclaimed\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 128\n" +
		"Requirements = false\n" + more
}

// part is a claim of a stranger on a part of the slot on which all jobs run.
func part(more string) string {
	return "Name = \"slot1_999@n1\"\nMachine = \"n1\"\nMyAddress = \"<n1>\"\nState = \"Claimed\"\nActivity = \"Busy\"\n" +
		"DynamicSlot = true\nCpus = 1\nMemory = 128\nRequirements = true\nJobStart = 1700000000\n" +
		"JobId = \"7.0\"\nGlobalJobId = \"elsewhere#7.0#1\"\n" + more
}

func submitterAd(name, schedd, at string) string {
	return fmt.Sprintf("Name = \"%s\"\nScheddName = \"%s\"\nScheddIpAddr = \"%s\"\nMyAddress = \"%s\"\nIdleJobs = 1\nCapability = \"x\"\nLastHeardFrom = 9000000000",
		name, schedd, at, at)
}

func scheddAd(name, at string) string {
	return fmt.Sprintf("MyType = \"Scheduler\"\nName = \"%s\"\nMyAddress = \"%s\"\nScheddIpAddr = \"%s\"", name, at, at)
}

// TestOneOddAdInAHundred says that nothing which one stranger sends to the collector keeps
// ninety-nine jobs from being planned, started and charged.
func TestOneOddAdInAHundred(t *testing.T) {
	for what, ads := range oddAds {
		t.Run(what, func(t *testing.T) {
			w, a := crowd(t)
			w.odd = map[string][]string{}
			for kind, ad := range ads {
				ad = strings.ReplaceAll(ad, theSchedd, w.schedd.Address().String())
				if kind == "Scheduler" {
					w.strangers = append(w.strangers, ad)
				}
				w.odd[kind] = append(w.odd[kind], ad)
			}
			w.collector.Set("Negotiator", w.odd["Negotiator"]...)
			w.crowdRuns(a)
			saved := w.pool.Saved(w.n.Checkpoint())
			w.negotiator("conservative", saved)
			w.pass(4)
			require.Equal(t, accountant.Use{Slots: 59, Weight: 59}, w.pool.Use()["alice@test"])
			for _, problem := range w.pool.Last().Problems {
				require.Less(t, len(problem), 500)
			}
		})
	}
}
