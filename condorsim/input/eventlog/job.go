package eventlog

import (
	"github.com/condor-backfill/condor-backfill/classad"
)

// The events that are read, by their numbers.
const (
	submits         = 0
	executes        = 1
	cannotExecute   = 2
	evicted         = 4
	terminated      = 5
	imageSize       = 6
	shadowException = 7
	aborted         = 9
	held            = 12
	released        = 13
	nodeExecutes    = 14
	nodeTerminated  = 15
	notReconnected  = 24
	adInformation   = 28
)

// ofJobs reports whether events of a kind are read, which are all of jobs.
func ofJobs(kind int64) bool {
	switch kind {
	case submits, executes, cannotExecute, evicted, terminated, imageSize, shadowException, aborted, held, released,
		nodeExecutes, nodeTerminated, notReconnected, adInformation:
		return true
	default:
		return false
	}
}

// Values of JobStatus.
const (
	statusIdle      = 1
	statusRunning   = 2
	statusRemoved   = 3
	statusCompleted = 4
	statusHeld      = 5
)

const universeParallel = 11

// job is what the events so far say of a job.
type job struct {
	cluster, proc int64
	arrived       int64 // when it was submitted, or released if it was held before it ran; below 0: unknown
	heldBefore    bool  // it arrived later than it was submitted
	held, running bool
	start, stop   int64 // of its last run
	runs          int
	nodes         int64 // of a parallel job
	ad            *classad.ClassAd
}

// follow does what an event says, and returns the job's status if it ended; else 0.
func (j *job) follow(e event) (status int64) {
	if e.says != nil && j.ad == nil {
		j.ad = classad.New()
	}
	j.note(e)
	switch e.kind {
	case executes, nodeExecutes:
		if j.nodes = max(j.nodes, e.node+1); j.running && e.kind == nodeExecutes {
			break
		}
		if !j.running {
			j.runs++
		}
		j.start, j.running, j.held = e.at, true, false
	case cannotExecute, evicted, shadowException, notReconnected:
		j.leaveSlot(e.at)
	case held:
		j.leaveSlot(e.at)
		j.held = true
	case released: // of a job that was submitted on hold no event says that
		if j.runs == 0 && j.arrived >= 0 && e.at > j.arrived {
			j.arrived, j.heldBefore = e.at, true
		}
		j.held = false
	case terminated:
		j.leaveSlot(e.at)
		return statusCompleted
	case aborted:
		j.leaveSlot(e.at)
		return statusRemoved
	}
	return 0
}

// leaveSlot ends the job's run, if it is running.
func (j *job) leaveSlot(at int64) {
	if j.running {
		j.running, j.stop = false, at
	}
}

// note adds what an event says to the job's ad. Memory that was used is the most of all events.
func (j *job) note(e event) {
	if e.says == nil {
		return
	}
	before, known := j.ad.Real("MemoryUsage")
	for name, expression := range e.says.All() {
		switch name {
		case "Cpus", "Memory", "GPUs", "Disk": // of the slot
			j.ad.Set(name+"Provisioned", expression)
		default:
			if !ofEvents(name) {
				j.ad.Set(name, expression)
			}
		}
	}
	if now, given := j.ad.Real("MemoryUsage"); known && (!given || now < before) {
		j.ad.SetReal("MemoryUsage", before)
	}
}

// ofEvents reports whether an attribute is about the event, or a time, which the events themselves tell.
func ofEvents(name string) bool {
	switch name {
	case "MyType", "TargetType", "EventTypeNumber", "EventTime", "Cluster", "Proc", "Subproc", "Inside",
		"TriggerEventTypeName", "TriggerEventTypeNumber", "QDate", "JobStartDate", "JobCurrentStartDate",
		"CompletionDate", "EnteredCurrentStatus", "RemoteWallClockTime", "CommittedTime", "JobStatus",
		"JobRunCount", "NumJobStarts",
		// What events 028 repeat of the event before them.
		"ExecuteHost", "ExecuteProps", "ReceivedBytes", "ReturnValue", "RunLocalUsage", "RunRemoteUsage", "SentBytes",
		"Size", "SlotName", "SubmitHost", "TerminatedNormally", "ToE", "TotalLocalUsage", "TotalReceivedBytes",
		"TotalRemoteUsage", "TotalSentBytes":
		return true
	default:
		return false
	}
}

// finished returns the job's ad when it ended at an instant with a status; below 0: it did not end.
func (j *job) finished(status, at int64) *classad.ClassAd {
	ad := j.ad
	if ad == nil {
		ad = classad.New()
	}
	ad.SetInt("ClusterId", j.cluster)
	ad.SetInt("ProcId", j.proc)
	ad.SetInt("QDate", j.arrived)
	ad.SetInt("JobStatus", status)
	if j.nodes > 0 {
		ad.SetInt("JobUniverse", universeParallel)
		ad.SetInt("MinHosts", j.nodes)
	}
	if at < 0 {
		if j.running {
			ad.SetInt("JobCurrentStartDate", j.start)
		}
		return ad
	}
	if j.runs > 0 {
		at = max(j.start, j.stop) // a job may be removed long after it was evicted
		ad.SetInt("JobStartDate", j.start)
		ad.SetInt("JobCurrentStartDate", j.start)
		ad.SetInt("RemoteWallClockTime", at-j.start)
	}
	ad.SetInt("CompletionDate", at)
	ad.SetInt("EnteredCurrentStatus", at)
	return ad
}

// waiting returns the status of a job that did not end.
func (j *job) waiting() int64 {
	switch {
	case j.held:
		return statusHeld
	case j.running:
		return statusRunning
	default:
		return statusIdle
	}
}
