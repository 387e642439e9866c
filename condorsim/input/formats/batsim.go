package formats

// batsim is a workload of the simulator Batsim.
var batsim = &Format{
	Holds:      "a workload of Batsim",
	Recognises: begins(`^\{(?s:.*)"(nb_res|subtime|profiles)"\s*:`),
	Instead:    toSWF,
}
