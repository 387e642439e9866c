package condorsim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// TestDoubtfulGroupsAreTold: under any order.
func TestDoubtfulGroupsAreTold(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"groups: [{name: a, quota: 2, users: [ann]}, {name: b, quota: 2, users: [bob]}]\n", nil},
		{"groups: [{name: a, quota: 60%, users: [ann]}, {name: b, quota: 40%, users: [bob]}]\n", nil},
		{
			"groups: [{name: a, quota: 4, users: [ann]}, {name: c, quota: 0}]\n",
			[]string{condorsim.EmptyGroupsText + "[groups c]"},
		},
		{
			"groups: [{name: a, quota: 0, users: [ann]}]\n",
			[]string{condorsim.ZeroQuotasText + "[limits quota of group a jobs 1]"},
		},
		{
			"groups: [{name: a, quota: 3, users: [ann]}, {name: b, quota: 2, users: [bob]}]\n",
			[]string{condorsim.ManyCpusText + "[of the pool sum 5 there are 4]"},
		},
		{
			"groups: [{name: a, quota: 70%, users: [ann]}, {name: b, quota: 70%, users: [bob]}]\n",
			[]string{condorsim.ManySharesText + "[of the pool sum 140%]"},
		},
		{
			"groups: [{name: a, quota: 2, users: [ann]}, {name: a.b, quota: 3, users: [bob]}]\n",
			[]string{condorsim.ManyCpusText + "[of a sum 3 there are 2]"},
		},
		{"scavengers: {users: [ann, eve], queues: [\"7\"]}\n", []string{
			"not all that ads ask for is heeded[what scavengers of the pool: no job is of user eve, queue 7]",
		}},
		{"scavengers: {users: [ann], queues: [main]}\n", nil},
		{"scavengers: {}\n", []string{
			"not all that ads ask for is heeded[what scavengers of the pool: no job is one, by its user, its queue or its ad]",
		}},
	} {
		w := onDescribed(
			t, one+c.text, workload.Job{Run: 10, Procs: 1, User: "ann"},
			workload.Job{Run: 10, Procs: 1, User: "bob", Queue: "main"},
		)
		var told []string
		w.Warn(func(text string, about ...any) { told = append(told, fmt.Sprint(text, about)) })
		require.Equal(t, c.want, told, c.text)
	}
}
