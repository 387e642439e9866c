package gwf

import "strings"

// The fields of a line that are read, from 0.
const (
	jobID = iota
	submitTime
	waitTime
	runTime
	procs
	_ // the average of the processor time used
	usedMemory
	reqProcs
	reqTime
	reqMemory
	status
	userID
	groupID
	executableID
	queueID
	_ // the partition
	_ // the site to which it was submitted
	_ // the site where it ran
	jobStructure

	void    = 27 // the virtual organisation
	project = 28
)

// needed is how many fields a line has at least: those that the Standard Workload Format has as well.
const needed = 16

// names are the names of the fields, as the line above the jobs has them.
const names = "JobID SubmitTime WaitTime RunTime NProcs AverageCPUTimeUsed UsedMemory ReqNProcs ReqTime ReqMemory " +
	"Status UserID GroupID ExecutableID QueueID PartitionID OrigSiteID LastRunSiteID JobStructure " +
	"JobStructureParams UsedNetwork UsedLocalDiskSpace UsedResources ReqPlatform ReqNetwork ReqLocalDiskSpace " +
	"ReqResources VOID ProjectID"

// nameOf returns the name of a field.
func nameOf(field int) string { return strings.Fields(names)[field] }

// maxNumber bounds numbers, so that sums and products cannot overflow.
const maxNumber = int64(1e12)

// number reads a number, and reports whether it has a fraction. It returns the whole number below it; -1,
// which is unknown, for any that is negative.
func number(text string) (value int64, fraction, ok bool) {
	text, negative := strings.CutPrefix(text, "-")
	before, after, _ := strings.Cut(text, ".")
	if before+after == "" || strings.Trim(before+after, "0123456789") != "" {
		return 0, false, false
	}
	for _, digit := range before {
		if value = value*10 + int64(digit-'0'); value > maxNumber {
			return 0, false, false
		}
	}
	if negative && strings.Trim(before+after, "0") != "" {
		return -1, false, true
	}
	return value, strings.Trim(after, "0") != "", true
}

// label returns the text of a field that names something; "" if it is unknown.
func label(text string) string {
	if text == "-1" || text == "-" {
		return ""
	}
	return text
}

// mib returns the MiB of a job that has KB of memory for each processor, rounded up; -1 if it is unknown.
func mib(kib, processors int64) int64 {
	if kib <= 0 || processors <= 0 {
		return -1
	}
	if kib > maxNumber/processors {
		return maxNumber
	}
	return (kib*processors + 1023) / 1024
}
