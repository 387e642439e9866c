package daemon

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// childUser is the environment variable that has a child of this test inherit as a user.
const childUser = "DAEMON_TEST_USER"

const nobody = 65534

// inheritAs becomes the user for good, takes what condor_master passes on, and waits for the end of
// its input.
func inheritAs(user string) {
	var uid int
	_, err := fmt.Sscan(user, &uid)
	if err == nil && uid != os.Geteuid() {
		err = syscall.Setresuid(uid, uid, uid)
	}
	if err == nil { // as it is for a process that another user started
		err = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
	if err != nil {
		panic(err)
	}
	inherited, err := Inherit()
	if err != nil {
		panic(err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	_, own := os.ReadFile("/proc/self/statm")
	fmt.Println(inherited.Family.ID, dumpable, err, own)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestNobodyReadsTheKeys: the initial environment of a process that took what condor_master passes
// on, which the system shows as /proc/PID/environ, has no key any more, and everything else. Other
// processes of the same user cannot read it, nor the memory.
func TestNobodyReadsTheKeys(t *testing.T) {
	users := map[string]int{"its own": os.Geteuid()}
	if os.Geteuid() == 0 {
		users["another"] = nobody
	}
	for name, uid := range users {
		t.Run(name, func(t *testing.T) {
			const secret = "0123456789abcdef"
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childUser, uid), inherit+"=42 <127.0.0.1:9618> 0 0",
				privateInherit+"=FamilySessionKey:family:1#[CryptoMethods=\"AES\";]"+secret, "AFTER=this")
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "family:1 0 <nil> <nil>\n", line)
			for _, file := range []string{"environ", "mem"} {
				path := fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, file)
				if uid == 0 {
					break // root reads everything
				}
				same := exec.Command("head", "-c1", path)
				same.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid)}}
				said, err := same.CombinedOutput()
				require.Error(t, err)
				require.Contains(t, string(said), "denied")
			}
			if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)); err == nil {
				require.NotContains(t, string(environ), secret)
				require.Contains(t, string(environ), "\x00AFTER=this\x00")
				require.Equal(t, 1, strings.Count(string(environ), "\x00"+privateInherit+"="))
			}
			require.NoError(t, in.Close())
			require.NoError(t, cmd.Wait())
		})
	}
}
