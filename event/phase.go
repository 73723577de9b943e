package event

// Phase is where on its way an event was when something went wrong.
type Phase string

// The phases, in their order.
const (
	PhaseReceive    Phase = "receive"
	PhaseParse      Phase = "parse"
	PhasePersist    Phase = "persist"
	PhaseUpsert     Phase = "upsert"
	PhaseDeadLetter Phase = "dead_letter"
	PhaseRedrive    Phase = "redrive"
	// PhaseDeliver is what goes out: receivers that are in trouble.
	PhaseDeliver Phase = "deliver"
	// PhaseUpkeep is the work that belongs to no event: purges, sweeps, notifications.
	PhaseUpkeep Phase = "upkeep"
)

// Phases are all of them, in their order.
func Phases() []Phase {
	return []Phase{PhaseReceive, PhaseParse, PhasePersist, PhaseUpsert, PhaseDeadLetter, PhaseRedrive, PhaseDeliver, PhaseUpkeep}
}
