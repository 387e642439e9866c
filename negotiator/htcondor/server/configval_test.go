package server_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// knobs is a configuration of these settings.
type knobs []server.Setting

func (k knobs) Setting(name string) (server.Setting, bool) {
	i := slices.IndexFunc(k, func(s server.Setting) bool { return s.Name == name })
	if i < 0 {
		return server.Setting{}, false
	}
	return k[i], true
}

func (k knobs) Names() (names []string) {
	for _, s := range k {
		names = append(names, s.Name)
	}
	return names
}

// TestConfigVal asks for settings as condor_config_val and condor_who do. The
// answers are those of HTCondor 23.9 (handle_config_val in daemon_core_main.cpp).
func TestConfigVal(t *testing.T) {
	n := &server.Negotiator{Configuration: knobs{
		{Name: "Log", Value: "/var/log", Raw: "$(VAR)/log", Source: "/etc/c, line 7", Default: "$(LOCAL)/log"},
		{Name: "LOGIN", Source: "<Default>"},
	}}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	for _, c := range []struct {
		command  int
		question string
		answer   []string
	}{
		{457, "Log", []string{"/var/log"}},
		{457, "LOGIN", []string{"Not defined"}},
		{457, "nonesuch", []string{"Not defined"}},
		{457, "?names", []string{"Not defined"}},
		{60007, "Log", []string{"/var/log", "LOG = $(VAR)/log", "/etc/c, line 7", "$(LOCAL)/log"}},
		{60007, "LOGIN", []string{"", "LOGIN = ", "<Default>", ""}},
		{60007, "?names", []string{"Log", "LOGIN"}},
		{60007, "?names:og$", []string{"Log"}},
		{60007, "?names:^log", []string{"Log", "LOGIN"}},
		{60007, "?names:x", []string{""}},
		{60007, "?names:(", []string{"!error:regex:0: error parsing regexp: missing closing ): `(?i)(`"}},
		{60007, "?names:.*|.summary", []string{"!error:unsup:1: '?names:.*|.summary' is not supported"}},
		{60007, "?stats", []string{"!error:unsup:1: '?stats' is not supported"}},
	} {
		t.Run(c.question, func(t *testing.T) {
			s, err := as("boss").Start(t.Context(), a, c.command, nil)
			require.NoError(t, err)
			defer s.Close()
			s.PutString(c.question)
			require.NoError(t, s.Send())
			require.Equal(t, c.answer, texts(t, s))
		})
	}
	s, err := as("boss").Start(t.Context(), a, 60007, nil)
	require.NoError(t, err)
	defer s.Close()
	s.PutString("nonesuch")
	require.NoError(t, s.Send())
	require.True(t, s.Encrypted())
	require.NoError(t, integer(s, 1), "the length of what follows (put_nullstr in stream.cpp)")
	null, err := s.Bytes(1)
	require.NoError(t, err)
	require.Equal(t, []byte{0xad}, null, "BIN_NULL_CHAR, without a 0")
	require.NoError(t, s.End())
}

// texts reads the texts of a message.
func texts(t *testing.T, s *cedar.Stream) (all []string) {
	t.Helper()
	for {
		more, err := s.More()
		require.NoError(t, err)
		if !more {
			return all
		}
		text, err := s.Text()
		require.NoError(t, err)
		all = append(all, text)
	}
}
