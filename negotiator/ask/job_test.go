package ask

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// readFile reads a job from a file of any name.
func readFile(t *testing.T, text string) (*classad.ClassAd, []string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	job, notes, err := Job{File: file}.Read()
	if err != nil {
		return nil, notes, err
	}
	ad, err := classad.ParseOld(job.Ad)
	require.NoError(t, err)
	return ad, notes, nil
}

// TestSubmitFiles: what condor_submit makes of the commands by which jobs are matched and planned.
func TestSubmitFiles(t *testing.T) {
	const gpus = "countMatches(MY.RequireGPUs,TARGET.AvailableGPUs) >= RequestGPUs"
	for text, want := range map[string]map[string]string{
		"request_cpus = 2\nrequest_memory = 1.5 GB\nrequest_disk = 2MB": {
			"RequestCpus": "2", "RequestMemory": "1536", "RequestDisk": "2048", "Requirements": "true",
		},
		"request_gpus = 1": {"RequestGPUs": "1", "Requirements": "(TARGET.GPUs >= RequestGPUs)"},
		"request_gpus = 1\nrequire_gpus = Capability > 7": {
			"RequireGPUs": "(Capability > 7)", "Requirements": "(" + gpus + ")",
		},
		"request_gpus = 1\ngpus_minimum_memory = 2 GB\ngpus_maximum_capability = 8": {
			"GPUsMinMemory": "2048", "GPUsMaxCapability": "8", "Requirements": "(" + gpus + ")",
			"RequireGPUs": "GlobalMemoryMb >= GPUsMinMemory && Capability <= GPUsMaxCapability",
		},
		"request_gpus = 1\ngpus_minimum_runtime = 12.1": {"GPUsMinRuntime": "12010"},
		"request_scratch = 9\nrequirements = HasX": {
			"RequestScratch": "9", "Requirements": "(HasX) && (TARGET.Scratch >= RequestScratch)",
		},
		"concurrency_limits = a:2, b\naccounting_group = physics\naccounting_group_user = bob": {
			"ConcurrencyLimits": `"a:2, b"`, "AccountingGroup": `"physics.bob"`,
		},
		"universe = docker":                    {"Requirements": "(TARGET.HasDocker)"},
		"+Mine = 3\nMY.Other = 4":              {"Mine": "3", "Other": "4"},
		"n = 3\nm = $(n)\nrequest_cpus = $(m)": {"RequestCpus": "3"},
		"request_cpus = $(n:5)":                {"RequestCpus": "5"},
		"request_cpus \\\n = 3":                {"RequestCpus": "3"},
		"allowed_execute_duration = 7200":      {"AllowedExecuteDuration": "7200"},
		"universe=parallel\nmachine_count = 4": {"MinHosts": "4"},
	} {
		ad, notes, err := readFile(t, text+"\nqueue\n")
		require.NoError(t, err, text)
		require.Empty(t, notes, text)
		for name, value := range want {
			e, has := ad.Lookup(name)
			require.True(t, has, "%s: %s", text, name)
			require.Equal(t, value, e.String(), "%s: %s", text, name)
		}
	}
}

// TestUnheeded: what a submit file says and the question does not heed is said once.
func TestUnheeded(t *testing.T) {
	for text, want := range map[string][]string{
		"executable = a\narguments = x=1 y\nlog = a.log\nmax_retries = 3\ntransfer_input_files = b\nqueue": nil,
		"queue 100":                                  {`of the jobs that "queue 100" queues this is about one`},
		"queue\nrequest_cpus = 4\nqueue":             {`of the jobs that "queue" queues this is about one`},
		"queue x from a.l":                           {`of the jobs that "queue x from a.l" queues this is about one`},
		"deferral_time = 7\nnice_user = true\nqueue": {"not heeded: deferral_time, nice_user"},
		"requirments = true\nfoo = 3\nexecutable = $(foo)\nqueue": {
			"not heeded, as no command of submit files: requirments, did you mean requirements",
		},
	} {
		_, notes, err := readFile(t, text+"\n")
		require.NoError(t, err, text)
		require.Equal(t, want, notes, text)
	}
}

// TestNoJob: a file with which nothing can be planned is refused, whatever its name.
func TestNoJob(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "it is empty",
		"# nothing":                             "it is empty",
		"[]":                                    "it is empty",
		"\x1f\x8b":                              "truncated",
		"RequestCpus = 1\n\nRequestCpus = 2":    "more than one ad",
		`[{"RequestCpus":1},{"RequestCpus":2}]`: "more than one ad",
		"RequestMemory = undefined":             "RequestMemory is undefined",
		"JobUniverse = 7":                       "jobs of the scheduler universe never take slots",
		"request_cpu = 3":                       "did you mean request_cpus?",
		"request_mem = 3":                       "did you mean request_memory?",
		"universe = local\nqueue":               "jobs of the local universe never take slots",
		"universe = 9\nqueue":                   "jobs of the grid universe never take slots",
		"universe = dag\nqueue":                 "must be vanilla, parallel",
		"hold = true\nqueue":                    "a job on hold",
		"request_cpus = $(n)\nqueue":            "$(n) is not defined in the file",
		"n = $(n)\nrequest_cpus = $(n)\nqueue":  "is not defined in the file",
		"request_cpus = $ENV(N)\nqueue":         "such macros are not expanded here",
		"if defined X\nrequest_cpus = 3\nqueue": "conditions and includes are not read here",
		"gpus_minimum_runtime = a.b\nqueue":     "must be a version such as 12.1",
		"request_cpus = (\nqueue":               "request_cpus = (",
		"executable = a\nnonsense\nqueue":       "is no command of a submit file",
	} {
		_, _, err := readFile(t, text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestAdsInAnyForm: an ad is one in each form that HTCondor prints.
func TestAdsInAnyForm(t *testing.T) {
	for _, text := range []string{
		"RequestCpus = 3\nRequestMemory = 5", "[ RequestCpus = 3; RequestMemory = 5 ]",
		`{"RequestCpus":3,"RequestMemory":5}`, `[{"RequestCpus":3,"RequestMemory":5}]`, "# an ad\nRequestCpus = 3",
	} {
		ad, _, err := readFile(t, text)
		require.NoError(t, err, text)
		cpus, _ := ad.Int("RequestCpus")
		require.EqualValues(t, 3, cpus, text)
		disk, has := ad.Int("RequestDisk")
		require.True(t, has && disk == 0, text)
	}
}
