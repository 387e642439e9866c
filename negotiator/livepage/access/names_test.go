package access

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames checks whose names a viewer reads.
func TestNames(t *testing.T) {
	ann := Viewer{User: "ann@pool.test"}
	for _, one := range []struct {
		names      Names
		viewer     Viewer
		user, want string
	}{
		{All, Viewer{}, "bob", "bob"},
		{Own, ann, "ann@pool.test", "ann@pool.test"},
		{Own, ann, "ann@POOL.test", "ann@POOL.test"},
		{Own, ann, "ann", "ann"},
		{Own, ann, "ann@else.test", "user 1"},
		{Own, ann, "Ann", "user 1"},
		{Own, ann, "bob", "user 1"},
		{Own, ann, "", ""},
		{Own, Viewer{}, "bob", "user 1"},
		{Own, Viewer{User: "ann"}, "ann@pool.test", "ann@pool.test"},
		{None, ann, "ann", "user 1"},
	} {
		require.Equal(t, one.want, NewAliases(one.names).For(one.viewer).User(one.user), one)
	}
	a := NewAliases(Own)
	require.Equal(t, []string{"user 1", "user 2", "user 1"}, []string{a.Alias("ann"), a.Alias("bob"), a.Alias("ann")})
	require.Equal(t, "user 1", a.Everyone().User("ann"), "for all alike")
	require.Equal(t, "group 1", a.For(ann).Group("bob", "phys"))
	require.Equal(t, "phys", a.For(ann).Group("ann", "phys"), "of an own job")
	require.Empty(t, a.For(ann).Group("bob", ""))
	require.False(t, a.For(ann).Clear())
	for name, want := range map[string]string{"12.0": "12.0", "7[3]": "7[3]", "secret-project": "#5", "": "#5"} {
		require.Equal(t, want, a.Everyone().Job("bob", name, 5))
	}
	require.Equal(t, "mine", a.For(ann).Job("ann", "mine", 5))
	require.Equal(t, "x", NewAliases(All).Everyone().Job("bob", "x", 5))
}

// TestTexts checks that texts tell no names that are not to be read.
func TestTexts(t *testing.T) {
	a := NewAliases(Own)
	for _, user := range []string{"ann@pool.test", "bob", "Eve O'Hara <x>", "zoë"} {
		a.Alias(user)
	}
	a.GroupAlias("phys.cms")
	ann := a.For(Viewer{User: "ann@pool.test"})
	for text, want := range map[string]string{
		"bob's job 12.0 is first":                      "user 2's job 12.0 is first",
		"ann@pool.test, bob.":                          "ann@pool.test, user 2.",
		"behind ann (bob@pool.test)":                   "behind ann (user 2@pool.test)",
		"group phys.cms has its quota; phys.cms.bob@x": "group group 1 has its quota; phys.cms.user 2@x",
		"of Eve O'Hara <x> and zoë":                    "of user 3 and user 4",
		"bobby and slot1@n2 wait":                      "bobby and slot1@n2 wait",
		"":                                             "",
		"bob":                                          "user 2",
		"\xff\xfebob\x00 bob":                          "\xff\xfebob\x00 user 2",
	} {
		require.Equal(t, want, ann.Scrub(text))
	}
	require.Equal(t, "behind user 1", a.Everyone().Scrub("behind ann"))
	require.Equal(t, "bob", NewAliases(All).Everyone().Scrub("bob"))
	for i := range mostOdd {
		a.Alias(fmt.Sprintf("odd %d", i))
	}
	require.Equal(t, hidden, ann.Scrub("whatever"), "too many names that are no words")
}

// TestAliasesAreBounded checks that invented users do not fill the memory.
func TestAliasesAreBounded(t *testing.T) {
	a := NewAliases(None)
	for i := range mostAliases + 10 {
		a.Alias(fmt.Sprint("u", i))
	}
	require.Len(t, a.users, mostAliases)
	require.Equal(t, "another user", a.Alias("new"))
	require.Equal(t, "user 1", a.Alias("u0"))
}
