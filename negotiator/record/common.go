package record

import (
	"regexp"
	"strings"
	"sync"
)

// isCommon reports whether a word, in lower case, says nothing of anybody: a number, a slot's number, or one of the
// words that ads of all pools have.
func isCommon(word string) bool { return number.MatchString(word) || common()[word] }

var number = regexp.MustCompile(`^(\d+|\d+t\d+|slot\d+(_\d+)?|v?\d+[a-z]?|\d+(kb|mb|gb|tb|kib|mib|gib|tib|s|min|h|d))$`)

var common = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(commonWords) {
		words[word] = true
	}
	return words
})

const commonWords = `
a an and any as at by for from in is no not of on or that the to with
linux windows osx macos freebsd x86_64 intel aarch64 arm64 ppc64le
almalinux alpine amazon centos debian fedora opensuse oracle redhat rhel rocky scientific suse ubuntu
machine job scheduler negotiator collector submitter startd schedd master slot partitionable static dynamic
claimed unclaimed owner matched drained backfill preempting idle busy suspended retiring vacating benchmarking killing
running held completed removed none default undefined error true false
vanilla local grid java parallel docker container vm universe
nvidia amd tesla geforce quadro rtx gtx titan pcie sxm sxm2 sxm4 sxm5 nvlink cuda opencl hip
p100 v100 v100s a10 a30 a40 a100 h100 h200 l4 l40 l40s t4 k20 k40 k80 mi100 mi210 mi250 mi300 b200
condorversion condorplatform htcondor condor version
cpus memory disk gpus swap mips kflops
`
