package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

func TestGroups(t *testing.T) {
	read := func(text string) (*pools.Description, error) {
		return pools.Read(strings.NewReader("classes: [{name: node, count: 2, cpus: 4}]\n"+text), "test.yaml")
	}
	p, err := read("groups:\n  - {name: a, quota: 2.5, users: [ann, \"b*\"]}\n" +
		"  - {name: A.x, quota: 12.5%, surplus: true, autoregroup: true, factor: 20, trace_groups: [\"7\"]}\n" +
		"  - {name: c, quota: 0, users: [bob]}\nceilings: {ann: 3, a.eve: 0}\n")
	require.NoError(t, err)
	require.Equal(t, []accountant.Group{
		{Name: "a", Quota: 2.5, Static: true},
		{Name: "A.x", Quota: 0.125, AcceptSurplus: true, Autoregroup: true, Factor: 20},
		{Name: "c", Static: true},
	}, p.Groups.Accounting())
	require.Equal(t, map[string]int64{"ann": 3, "a.eve": 0}, p.Ceilings)
	for _, x := range []struct{ user, traced, want string }{
		{"ann", "", "a"},
		{"ann", "7", "a"},
		{"ben", "", "a"},
		{"bob", "", "c"},
		{"eve", "7", "A.x"},
		{"eve", "a.X", "A.x"},
		{"eve", "C", "c"},
		{"eve", "8", ""},
		{"", "", ""},
	} {
		require.Equal(t, x.want, p.Groups.Of(x.user, x.traced), "%s of %s", x.user, x.traced)
	}
	for _, c := range []struct{ text, want string }{
		{"groups:\n", "groups: lists none: leave it out"},
		{"groups: []\n", "groups: lists none"},
		{"groups: [{quota: 1}]\n", "[2:10] groups[0].name: the name is missing"},
		{"groups: [{name: a}]\n", "groups[0]: a has no quota: must be cpus such as 60, or a share such as 50%"},
		{"groups: [{name: a, quota: 101%}]\n", "is no quota"},
		{"groups: [{name: a, quota: -1}]\n", "is no quota"},
		{"groups: [{name: a, quota: 1e3}]\n", "is no quota"},
		{"groups: [{name: a, quota: 4GiB}]\n", "is no quota"},
		{"groups: [{name: a, quota: 1, factor: 0.5}]\n", "factor: 0.5: must be from 1 to 1e+12"},
		{"groups: [{name: a, quota: 1}, {name: b.C, quota: 1}]\n", "[2:38] groups[1].name: the parent of b.C is no group: list b, too"},
		{"groups: [{name: a, quota: 1}, {name: A, quota: 1}]\n", "[2:38] groups[1].name: A is there twice, first as groups[0]; capital letters"},
		{"groups: [{name: a@b, quota: 1}]\n", "a group has no @"},
		{"groups: [{name: a., quota: 1}]\n", "dots only between it and its subgroup"},
		{"groups: [{name: <none>, quota: 1}]\n", "the name of all that is in no group"},
		{
			"groups: [{name: a, quota: 1, users: [x]}, {name: b, quota: 1, users: [x]}]\n",
			"users[0]: x is of the group a already",
		},
		{"groups: [{name: a, quota: 1, users: [\"[\"]}]\n", "is no name or pattern"},
		{"groups: [{name: a, quota: 1, surplus: maybe}]\n", "surplus"},
		{"groups: [{name: a, quotas: 1}]\n", "did you mean quota"},
		{"ceilings: {ann: -1}\n", "must be how many cpus the user may have at once"},
		{"ceilings: {ann: }\n", "must be how many cpus the user may have at once"},
		{"ceilings: {\"a b\": 1}\n", "must not have blanks"},
	} {
		_, err = read(c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
}
