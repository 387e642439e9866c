// Package pooltest starts real HTCondor pools for tests, acts on them as users and administrators
// do, and audits what the pools did.
//
//	pool := pooltest.Start(t, "NODES=4", "SLOTS=consumption")
//	jobs := pool.Submit("alice", "executable = /bin/sleep\narguments = 5\nqueue 3")
//	pool.WaitDone(time.Minute, jobs...)
//
// Start skips the test unless it was asked for: go test ./integration/htcondor/... -pool or
// CONDOR_POOL=1, as root on a Debian machine. The settings are those of ../pool.sh, which does the
// work. When the test ends, the pool's own records are audited (audit.go): no node held more than
// it has, no job ran twice at once or again after it had ended successfully, none was lost, gangs
// ran as a whole, and under our negotiator no slot was idle for long beside a job that fits it
// (idle.go). Then the pool is deleted; its logs are kept if the test failed. A pool ends with the
// process that started it, however that ends; the next Start deletes what remains on disk.
//
//   - pool.go: start, stop, configure, kill daemons
//   - commands.go: HTCondor's commands with deadlines: submit, queue, history, slots
//   - ad.go: ads as those commands print them, and ids of jobs
//   - events.go: the pool's event log
//   - audit.go: who ran where and when, and what must never happen
//   - idle.go: looks at slots and waiting jobs, to find slots that are idle beside work
//   - measure.go: makespan, waits and utilisation of what ran
package pooltest
