package setup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// manager is a central manager whose tools only note that they were run. Its negotiator is HTCondor's
// own, always.
func manager(t *testing.T) *Setup {
	t.Helper()
	folder, now := t.TempDir(), time.Unix(1_700_000_000, 0)
	template, err := fs.ReadFile(configs.Files(), configs.HTCondor)
	require.NoError(t, err)
	program := filepath.Join(folder, "negotiator")
	require.NoError(t, os.WriteFile(program, nil, 0o755)) //nolint:gosec // it stands for a program
	return &Setup{
		Tool: func(_ context.Context, name string, args ...string) (string, error) {
			if name == "condor_status" && args[0] == "-negotiator" {
				return "cm.site\tcm.site\t" + now.Format("20060102") + "\tundefined\tundefined\tundefined\n", nil
			}
			return "", nil
		},
		Read: func(context.Context) (*condorconfig.Config, error) {
			var dump strings.Builder
			const daemons = "MASTER COLLECTOR NEGOTIATOR STARTD"
			dump.WriteString("DAEMON_LIST = " + daemons + "\nCONDOR_IDS = 7.7\nLOCAL_CONFIG_DIR = " + folder + "\n")
			text, _ := os.ReadFile(filepath.Join(folder, fileName))
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "#") && strings.Contains(line, " = ") {
					dump.WriteString(strings.ReplaceAll(line, "$(DAEMON_LIST)", daemons) + " # at: " + filepath.Join(folder, fileName) + ", line 1\n")
				}
			}
			return condorconfig.Parse(dump.String(), ""), nil
		},
		Check:    func(context.Context) error { return nil },
		Template: string(template), Program: program, UID: os.Geteuid(), Patience: 5 * time.Second,
		Now: func() time.Time { return now },
		Wait: func(ctx context.Context, d time.Duration) error {
			now = now.Add(d)
			return ctx.Err()
		},
	}
}

// TestWhoMaySwitch: root and the user that HTCondor runs as; others may look at a dry run.
func TestWhoMaySwitch(t *testing.T) {
	for uid, may := range map[int]bool{0: true, 7: true, 8: false} {
		s := manager(t)
		s.UID = uid
		err := s.maySwitch(condorconfig.Parse("CONDOR_IDS = 7.7\n", ""))
		require.Equal(t, may, err == nil, "%d: %v", uid, err)
		s.DryRun = true
		require.NoError(t, s.maySwitch(condorconfig.Parse("CONDOR_IDS = 7.7\n", "")))
	}
	s := manager(t)
	s.UID = 8
	_, err := s.To(t.Context(), Live)
	require.ErrorContains(t, err, "run this as root, or as the user that HTCondor runs as")
	require.Equal(t, cli.BadInput, cli.Code(err))
	require.NoFileExists(t, s.path)
}

// TestWhatIsRunnable: condor_master, which may be root, runs no program that others can replace.
func TestWhatIsRunnable(t *testing.T) {
	s := manager(t)
	require.NoError(t, s.runnable())
	require.NoError(t, os.Chmod(s.Program, 0o757)) //nolint:gosec // that is what is refused
	require.ErrorContains(t, s.runnable(), "everybody may write to it. Install it where only root can change it")
	require.NoError(t, os.Chmod(s.Program, 0o755))               //nolint:gosec // it stands for a program
	require.NoError(t, os.Chmod(filepath.Dir(s.Program), 0o777)) //nolint:gosec // that is what is refused
	require.ErrorContains(t, s.runnable(), "because of "+filepath.Dir(s.Program)+": everybody may write to it")
	require.NoError(t, os.Chmod(filepath.Dir(s.Program), 0o700))
	s.Program += "x"
	require.ErrorIs(t, s.runnable(), os.ErrNotExist)
	if os.Geteuid() == 0 {
		s = manager(t)
		require.NoError(t, os.Chown(s.Program, 8, 8))
		require.ErrorContains(t, s.runnable(), "it is another user's")
	}
}

// TestTheFile has the template's lines in force that a mode needs, and no others; it tells who wrote it,
// and whether it is still so.
func TestTheFile(t *testing.T) {
	s := manager(t)
	path := filepath.Join(t.TempDir(), fileName)
	s.executes = true
	for _, m := range []Mode{Live, Observe} {
		var names []string
		for _, line := range inForce(s.content(m, false)) {
			name, _, _ := strings.Cut(line, " = ")
			names = append(names, name)
		}
		require.ElementsMatch(t, s.knobs(m), names, "each of them is in the template")
		require.NoError(t, write(path, s.content(m, false)))
		there, err := read(path)
		require.NoError(t, err)
		require.Equal(t, current{s.content(m, false), m, false}, there)
		require.NoError(t, write(path, s.content(m, true)))
		there, err = read(path)
		require.NoError(t, err)
		require.Equal(t, current{s.content(m, true), m, true}, there)
	}
	require.Contains(t, s.content(Live, false), "\n"+condorconfig.StartLine+"\n")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o644), info.Mode())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1)

	for _, edited := range []string{s.content(Live, false) + "X = 1\n", "", "NEGOTIATOR = /x\n", strings.Replace(s.content(Live, false), "live", "x", 1)} {
		require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
		_, err = read(path)
		require.ErrorContains(t, err, "is not as negotiator setup wrote it")
	}
	require.NoError(t, write(path, ""))
	require.NoError(t, write(path, ""), "it is gone already")
	there, err := read(path)
	require.NoError(t, err)
	require.Equal(t, current{mode: Stock}, there)
}

// TestInterrupted: whoever interrupts gets back what was, and the error says so.
func TestInterrupted(t *testing.T) {
	s := manager(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Say = func(step string) {
		if step == "run condor_on -daemon negotiator" {
			cancel()
		}
	}
	r, err := s.To(ctx, Live)
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, s.path)
	require.Equal(t, err.Error(), r.Error)
	require.Len(t, r.Did, 8)
}

// TestNobodyMatches: where the pool's negotiator is down, it is started, also if the file is as it should
// be; a step that failed may have stopped it.
func TestNobodyMatches(t *testing.T) {
	up := true
	ofPool := func(t *testing.T) *Setup {
		t.Helper()
		s := manager(t)
		s.Tool = func(_ context.Context, name string, args ...string) (string, error) {
			switch {
			case name == "condor_on":
				up = true
			case name == "condor_off":
				up = false
			case name == "condor_status" && args[0] == "-any":
				return "cm.site\tobserver@cm.site\t1700000000\tslack\t3\t\n", nil
			case name == "condor_status" && args[0] == "-negotiator" && !up:
				return "", nil
			case name == "condor_status" && args[0] == "-negotiator":
				return "cm.site\tcm.site\t1800000000\tundefined\tundefined\tundefined\n", nil
			}
			return "", nil
		}
		return s
	}
	for _, m := range []Mode{Observe, Stock} {
		t.Run(string(m), func(t *testing.T) {
			s := ofPool(t)
			up = true
			_, err := s.To(t.Context(), Observe)
			require.NoError(t, err)
			up = false
			_, err = s.To(t.Context(), m)
			require.NoError(t, err)
			require.True(t, up)
		})
	}
}

// TestCheckFails: a configuration that is wrong is found before anybody is told of the file.
func TestCheckFails(t *testing.T) {
	s := manager(t)
	wrong := errors.New("wrong")
	s.Check = func(context.Context) error { return wrong }
	r, err := s.To(t.Context(), Live)
	require.ErrorIs(t, err, wrong)
	require.Equal(t, cli.BadInput, cli.Code(err))
	require.NoFileExists(t, s.path)
	require.Equal(t, []string{"write " + s.path, "remove " + s.path}, r.Did)
}

// TestTwoAtOnce: whoever comes second changes nothing, and can come again.
func TestTwoAtOnce(t *testing.T) {
	s, folder := manager(t), ""
	asked := 0
	s.Say = func(string) {
		second := *s
		second.Say = nil
		folder = filepath.Dir(second.path)
		_, err := second.To(t.Context(), Stock)
		require.ErrorContains(t, err, "another negotiator setup is at work")
		require.Equal(t, cli.BadInput, cli.Code(err))
		second.DryRun = true
		_, err = second.To(t.Context(), Stock)
		require.NoError(t, err, "it only looks")
		asked++
	}
	_, err := s.To(t.Context(), Observe)
	require.NotErrorIs(t, err, context.Canceled)
	require.NotZero(t, asked)
	s.Say = nil
	_, err = s.To(t.Context(), Stock)
	require.NoError(t, err)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 1, "the program")
}

// TestAccountingMovesAlong: while no negotiator runs, and in no other step; not when all is put back.
func TestAccountingMovesAlong(t *testing.T) {
	s := manager(t)
	s.moves, s.DryRun = true, true
	for _, change := range []struct {
		from, to Mode
		command  string
	}{
		{Stock, Live, "import-accounting"},
		{Observe, Live, "import-accounting"},
		{Live, Stock, "export-accounting"},
		{Live, Observe, "export-accounting"},
	} {
		s.report = Report{}
		_, err := s.handOver(t.Context(), change.from, change.to)
		require.NoError(t, err)
		require.Equal(t, []string{
			"run condor_off -daemon negotiator", "run " + s.Program + " " + change.command, "run condor_reconfig",
			"run condor_on -daemon negotiator",
		}, s.report.Did)
	}
	for _, m := range []Mode{Stock, Observe, Live} {
		require.Nil(t, s.moving(m, m))
	}
	require.Nil(t, s.moving(Stock, Observe))

	s = manager(t)
	s.Accounting = new(true)
	tool, moved := s.Tool, 0
	s.Tool = func(ctx context.Context, name string, args ...string) (string, error) {
		if name == s.Program {
			moved++
			return "", errors.New("usage would be lost")
		}
		return tool(ctx, name, args...)
	}
	r, err := s.To(t.Context(), Live)
	require.ErrorContains(t, err, "usage would be lost")
	require.Equal(t, 1, moved)
	require.False(t, r.Moved)
	require.NoFileExists(t, s.path)
	require.Contains(t, r.Did, "run condor_on -daemon negotiator")
}

// movable is a central manager whose negotiator is the one that the file says, and on which usage and
// priorities can move. At each step the file is noted as whoever is cut off there leaves it.
func movable(t *testing.T) (s *Setup, left map[string]current) {
	t.Helper()
	s, left = manager(t), map[string]current{}
	ads := "cm.site\tcm.site\t1800000000\tundefined\tundefined\tundefined\n"
	s.Tool = func(_ context.Context, name string, args ...string) (string, error) {
		now, err := read(s.path)
		switch {
		case name == "condor_status" && args[0] == "-negotiator":
			return ads, nil
		case name == "condor_on" && now.mode == Live:
			ads = "cm.site\tcm.site\t1800000000\tslack\t3\t\n"
		case name == "condor_on":
			ads = "cm.site\tcm.site\t1800000000\tundefined\tundefined\tundefined\n"
		case name == s.Program:
			name = args[0]
		}
		now.text = ""
		left[name] = now
		return "", err
	}
	return s, left
}

// TestCutOffWhileAccountingMoves: whoever is killed before usage and priorities have moved finds that the
// file does not say so yet, and moves them by running the same again.
func TestCutOffWhileAccountingMoves(t *testing.T) {
	s, left := movable(t)
	s.Accounting = new(true)
	_, err := s.To(t.Context(), Live)
	require.NoError(t, err)
	require.Equal(t, current{mode: Live}, left["import-accounting"])
	require.Equal(t, current{mode: Live, moved: true}, left["condor_reconfig"])

	s.Accounting = nil
	_, err = s.To(t.Context(), Stock)
	require.NoError(t, err)
	require.Equal(t, current{mode: Live, moved: true}, left["condor_off"])
	require.Equal(t, current{mode: Live, moved: true}, left["export-accounting"])
	require.Equal(t, current{mode: Stock}, left["condor_reconfig"])
}

// TestTooLateToMove: where ours is at work already, nothing would move, which is said.
func TestTooLateToMove(t *testing.T) {
	s, left := movable(t)
	_, err := s.To(t.Context(), Live)
	require.NoError(t, err)
	s.Accounting = new(true)
	_, err = s.To(t.Context(), Live)
	require.ErrorContains(t, err, "usage and priorities move only when the negotiators change, and ours is at work "+
		"already: run negotiator setup --back, and then this again")
	require.Equal(t, cli.BadInput, cli.Code(err))

	s.Accounting = nil
	_, err = s.To(t.Context(), Stock)
	require.NoError(t, err)
	s.Accounting = new(true)
	for range 2 { // what came along is there
		_, err = s.To(t.Context(), Live)
		require.NoError(t, err)
	}
	require.Contains(t, left, "import-accounting")
}

// TestReplaceWhatWasUsed: where ours has an accounting from before, only who says so replaces it.
func TestReplaceWhatWasUsed(t *testing.T) {
	s := manager(t)
	s.moves, s.DryRun = true, true
	require.Equal(t, []string{s.Program, "import-accounting"}, s.moving(Stock, Live))
	s.Replace = true
	require.Equal(t, []string{s.Program, "import-accounting", "--replace"}, s.moving(Stock, Live))
	require.Equal(t, []string{s.Program, "export-accounting", "--replace"}, s.moving(Live, Stock))
}

// TestLinkByHand: a link of the name by which condor_who finds negotiators is no negotiator of HTCondor's.
func TestLinkByHand(t *testing.T) {
	s := manager(t)
	link := filepath.Join(filepath.Dir(s.Program), "condor_negotiator")
	require.NoError(t, os.Symlink(s.Program, link))
	plain := s.Read
	s.Read = func(ctx context.Context) (*condorconfig.Config, error) {
		c, err := plain(ctx)
		require.NoError(t, err)
		return condorconfig.Parse("DAEMON_LIST = NEGOTIATOR\nLOCAL_CONFIG_DIR = "+c.Text("LOCAL_CONFIG_DIR")+
			"\nNEGOTIATOR = "+link+"\n # at: /x, line 1\n", ""), nil
	}
	for _, m := range []Mode{Stock, Observe, Live, Same} {
		_, err := s.To(t.Context(), m)
		require.ErrorContains(t, err, "NEGOTIATOR = "+link+" (/x, line 1) was not set by negotiator setup: take that "+
			"line out first")
		require.Equal(t, cli.BadInput, cli.Code(err))
	}
}
