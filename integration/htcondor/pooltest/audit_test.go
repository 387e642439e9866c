package pooltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// story parses events from lines like "5 execute 1.0 n1 slot1_1 4": seconds, event, job, and for
// starts node, slot, cores and, for gangs, the part.
func story(t *testing.T, lines string) []Event {
	t.Helper()
	types := map[string]int{
		"submit": Submitted, "execute": Executed, "whole": Executed, "part": NodeExecuted, "part-end": NodeTerminated,
		"end": Terminated, "evict": Evicted,
		"abort": Aborted, "hold": HeldEvent, "cut": Disconnected, "again": Reconnected, "fail": ReconnectFailed,
		"shadow": ShadowFailed,
	}
	var log strings.Builder
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		kind, known := types[fields[1]]
		require.True(t, known, line)
		var second, cluster, proc, part, cores int
		_, err := fmt.Sscan(fields[0], &second)
		require.NoError(t, err)
		_, err = fmt.Sscanf(fields[2], "%d.%d", &cluster, &proc)
		require.NoError(t, err)
		fmt.Fprintf(&log, `{"EventTypeNumber": %d, "Cluster": %d, "Proc": %d, "EventTime": "2026-01-01T00:00:%02d.500"`,
			kind, cluster, proc, second)
		switch fields[1] {
		case "whole":
			log.WriteString(`, "ExecuteHost": "MPI_job"`)
		case "execute", "part":
			_, err = fmt.Sscan(fields[5], &cores)
			require.NoError(t, err)
			if len(fields) > 6 {
				_, err = fmt.Sscan(fields[6], &part)
				require.NoError(t, err)
			}
			fmt.Fprintf(&log, `, "Node": %d, "SlotName": "%s@pool.test", "ExecuteHost": `+
				`"<127.0.0.1:9?alias=x&sock=%s>", "ExecuteProps": {"Cpus": %d, "Memory": 128}`, part, fields[4],
				fields[3], cores)
		case "part-end":
			fmt.Fprintf(&log, `, "Node": %s`, fields[3])
		}
		log.WriteString("}\n")
	}
	events, err := readEvents(strings.NewReader(log.String()), Host)
	require.NoError(t, err)
	return events
}

func TestAuditFindsEveryViolation(t *testing.T) {
	cases := []struct {
		name, story, violation string
		jobs                   string // in the queue or history; by default all jobs of the story
	}{
		{name: "one after the other", story: `
			0 submit 1.0
			0 submit 2.0
			1 execute 1.0 n1 slot1_1 8
			3 end 1.0
			3 execute 2.0 n1 slot1_1 8
			5 end 2.0`},
		{name: "evicted and run again", story: `
			0 submit 1.0
			1 execute 1.0 n1 slot1_1 8
			2 evict 1.0
			3 execute 1.0 n2 slot1_1 8
			5 end 1.0`},
		{name: "held, released and run again", story: `
			1 execute 1.0 n1 slot1_1 8
			2 hold 1.0
			3 execute 1.0 n1 slot1_1 8`},
		{name: "cut off and lost", story: `
			1 execute 1.0 n1 slot1_1 8
			2 cut 1.0
			3 fail 1.0
			3 execute 1.0 n1 slot1_1 8`},
		{name: "cut off and found again", story: `
			1 execute 1.0 n1 slot1_1 8
			2 cut 1.0
			3 again 1.0
			4 end 1.0`},
		{name: "a whole gang, two nodes on one machine", story: `
			1 part 1.0 n1 slot1_1 4 0
			1 part 1.0 n1 slot1_2 4 1
			1 part 1.0 n2 slot1_1 4 2
			1 whole 1.0
			2 part-end 1.0 1
			2 end 1.0
			2 execute 2.0 n1 slot1_2 4`},
		{
			name: "a node has too few cores",
			violation: `node "n1" at 00:00:02.500: 9 cores and 256 MiB are used of 8 and 16384: ` +
				"1.0 (5 cores), 2.0 (4 cores)", story: `
			1 execute 1.0 n1 slot1_1 5
			2 execute 2.0 n1 slot1_2 4`,
		},
		{
			name:      "cut off, found again, and its place given away meanwhile",
			violation: `node "n1" at 00:00:02.500: 12 cores`, story: `
			1 execute 1.0 n1 slot1_1 6
			2 cut 1.0
			2 execute 2.0 n1 slot1_2 6
			3 again 1.0
			4 end 1.0`,
		},
		{
			name:      "a slot is used twice",
			violation: "slot slot1_1@n1 at 00:00:02.500: 2.0 started while 1.0 had it", story: `
			1 execute 1.0 n1 slot1_1 1
			2 execute 2.0 n1 slot1_1 1`,
		},
		{name: "a node that is none", violation: `job 1.0 ran on node "n9", which does not exist`, story: `
			1 execute 1.0 n9 slot1_1 1`},
		{
			name: "a job runs twice at once",
			violation: "job 1.0 at 00:00:02.500: started in slot1_1@n2 while it ran in slot1_1@n1 " +
				"since 00:00:01.500", story: `
			1 execute 1.0 n1 slot1_1 1
			2 execute 1.0 n2 slot1_1 1`,
		},
		{
			name:      "a job runs again",
			violation: "job 1.0 at 00:00:03.500: started again after it had ended well", story: `
			1 execute 1.0 n1 slot1_1 1
			2 end 1.0
			3 execute 1.0 n2 slot1_1 1`,
		},
		{
			name:      "a gang is not whole",
			violation: "job 1.0 at 00:00:02.500: a gang of 3 nodes started on 2", story: `
			1 part 1.0 n1 slot1_1 1 0
			1 part 1.0 n2 slot1_1 1 1
			2 whole 1.0`,
		},
		{
			name:      "a gang's nodes share a slot",
			violation: "slot slot1_1@n1 at 00:00:01.500: 1.0 started while 1.0 had it", story: `
			1 part 1.0 n1 slot1_1 1 0
			1 part 1.0 n1 slot1_1 1 1`,
		},
		{
			name:      "a gang's node runs again",
			violation: "job 1.0 at 00:00:03.500: started again after it had ended well", story: `
			1 part 1.0 n1 slot1_1 1 0
			2 end 1.0
			3 part 1.0 n2 slot1_1 1 0`,
		},
		{
			name: "a job is lost", jobs: "1.0",
			violation: "job 2.0 is lost: submitted, and neither in the queue nor in the history", story: `
			0 submit 1.0
			0 submit 2.0`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			events := story(t, c.story)
			evidence := Evidence{Events: events, Capacity: map[string]Resources{"n1": {8, 16384}, "n2": {8, 16384}}}
			for _, event := range events {
				if c.jobs == "" || strings.Contains(c.jobs, event.Job.String()) {
					ad := Ad{
						"GlobalJobId": Host + "#1.0#1", "ClusterId": float64(event.Job.Cluster),
						"ProcId": float64(event.Job.Proc),
					}
					if event.Type == NodeExecuted {
						ad["JobUniverse"], ad["MaxHosts"] = float64(parallel), 3.0
					}
					evidence.Jobs = append(evidence.Jobs, ad)
				}
			}
			found := Examine(evidence).Violations
			if c.violation == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Contains(t, found[0], c.violation)
		})
	}
}

func TestAuditMissesJobsThatOnlySubmitKnows(t *testing.T) {
	found := Examine(Evidence{Submitted: []JobID{{"s2@pool.test", 7, 1}}})
	require.Equal(t, []string{"job s2@pool.test#7.1 is lost: condor_submit named it, and nothing else knows it"},
		found.Violations)
}

func TestEventsCutShortAreTheLogsEnd(t *testing.T) {
	events, err := readEvents(strings.NewReader(`{"EventTypeNumber": 8, "EventTime": "x"} {"Cluster": 1, "Proc": `+
		`0, "EventTime": "2026-01-01T00:00:00"} {"Clus`), Host)
	require.NoError(t, err)
	require.Len(t, events, 1)
	_, err = readEvents(strings.NewReader(`{"Cluster": 1, "Proc": 0, "EventTime": "yesterday"}`), Host)
	require.ErrorContains(t, err, "entry 1")
	_, err = readEvents(strings.NewReader(`]`), Host)
	require.ErrorContains(t, err, "entry 1")
}

func TestMeasure(t *testing.T) {
	audit := Examine(Evidence{Capacity: map[string]Resources{"n1": {8, 16384}}, Events: story(t, `
		0 submit 1.0
		0 submit 2.0
		2 execute 1.0 n1 slot1_1 8
		6 end 1.0
		6 execute 2.0 n1 slot1_1 4
		10 end 2.0`)})
	require.Equal(t, Measures{
		Jobs: 2, Makespan: 10 * time.Second, MeanWait: 4 * time.Second, MaxWait: 6 * time.Second,
		Utilisation: 48.0 / 80,
	}, audit.Measure(8))
	require.Equal(t, 6*time.Second, audit.Measure(8, JobID{Host, 1, 0}).Makespan)
	require.Equal(t, Measures{}, audit.Measure(8, JobID{Host, 9, 0}))
}
