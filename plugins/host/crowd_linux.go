package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// crowd counts the processes and threads of a plugin. No limit of the system does that without
// privileges: RLIMIT_NPROC counts all that its user runs, and a control group must be delegated.
type crowd struct {
	group  int
	others int // processes and threads of the whole system, without the group, when it was counted
	at     time.Time
}

// recount is how long a count is good while the system as a whole has no more processes.
const recount = 30 * time.Second

// size returns how many processes and threads the group has, if there may be more than most;
// otherwise 0. To look at every process of a system is dear, so it looks at their number first.
//
// If that number has jumped, or is seen for the first time, the group is stopped while it is
// counted: processes that start others without end would outrun the count, and leave it no
// processor. The group goes on if it has no more than most; otherwise it stays stopped, to be
// killed.
func (c *crowd) size(most int, now time.Time) int {
	all := tasksOfSystem()
	jumped := all-c.others > most
	if !jumped && now.Sub(c.at) < recount {
		return 0
	}
	if jumped {
		c.signal(unix.SIGSTOP)
	}
	size := 0
	for _, pid := range group(c.group) {
		size += threads(pid)
	}
	if jumped && size <= most {
		c.signal(unix.SIGCONT)
	}
	c.others, c.at = all-size, now
	return size
}

// signal sends a signal to the group, which may have ended.
func (c *crowd) signal(s unix.Signal) {
	_ = privileged(func() error { return unix.Kill(-c.group, s) })
}

// tasksOfSystem returns how many processes and threads the system has; 0 if it does not say.
func tasksOfSystem() int {
	text, err := os.ReadFile("/proc/loadavg") // load, load, load, running/all, last process
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("/"))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	n, _ := strconv.Atoi(string(number))
	return n
}

// group returns the processes of a group, and those that descend from its leader: in namespaces of
// its own the leader is the parent of all whose parents have ended, so none is missed.
func group(leader int) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*") // it fails only for wrong patterns
	children := map[int][]int{}
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		numbers := statOf(pid, 4, 5)
		if parent, group := numbers[0], numbers[1]; group == leader {
			pids = append(pids, pid)
		} else if parent > 0 {
			children[parent] = append(children[parent], pid)
		}
	}
	for i := 0; i < len(pids); i++ { // pids grows meanwhile
		pids = append(pids, children[pids[i]]...)
	}
	return pids
}

// threads returns how many threads a process has; 0 if it has ended.
func threads(pid int) int { return statOf(pid, 20)[0] }

// statOf returns numbers from /proc/PID/stat, by their places in proc_pid_stat(5); 0 for those that
// are not there.
func statOf(pid int, places ...int) []int {
	numbers := make([]int, len(places))
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return numbers
	}
	const first = 3 // the field after the name, which may have blanks
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	for i, place := range places {
		if place-first < len(fields) {
			numbers[i], _ = strconv.Atoi(string(fields[place-first]))
		}
	}
	return numbers
}
