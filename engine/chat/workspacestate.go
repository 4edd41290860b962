package chat

// WorkspaceState says where a Workspace stands between its making and its end.
type WorkspaceState string

const (
	// WorkspaceCreating: its directory is being made.
	WorkspaceCreating WorkspaceState = "creating"
	// WorkspaceSetup: the setup command of its template runs.
	WorkspaceSetup   WorkspaceState = "setup"
	WorkspaceRunning WorkspaceState = "running"
	// WorkspaceSetupFailed: making it or its setup failed; what is there is kept, and it can be tried again.
	WorkspaceSetupFailed WorkspaceState = "setup_failed"
	WorkspaceStopping    WorkspaceState = "stopping"
	// WorkspaceStopped: nothing of it runs; its files are all there.
	WorkspaceStopped WorkspaceState = "stopped"
	// WorkspaceOffline: its Agent is away.
	WorkspaceOffline WorkspaceState = "offline"
	WorkspaceDeleted WorkspaceState = "deleted"
)

// WorkspaceStates are all of them, in the order of a life.
var WorkspaceStates = []WorkspaceState{WorkspaceCreating, WorkspaceSetup, WorkspaceRunning, WorkspaceSetupFailed, WorkspaceStopping,
	WorkspaceStopped, WorkspaceOffline, WorkspaceDeleted}

// WorkspaceEvent is what happens to a Workspace.
type WorkspaceEvent string

const (
	// WorkspaceMade: the directory is there. WorkspaceReady: what had to be set up is.
	WorkspaceMade  WorkspaceEvent = "made"
	WorkspaceReady WorkspaceEvent = "ready"
	// WorkspaceFailed: making or setup did not succeed. WorkspaceRetry tries it again.
	WorkspaceFailed WorkspaceEvent = "failed"
	WorkspaceRetry  WorkspaceEvent = "retry"
	// WorkspaceStop begins to end what runs, WorkspaceEnded says that nothing does any more.
	WorkspaceStop  WorkspaceEvent = "stop"
	WorkspaceEnded WorkspaceEvent = "ended"
	WorkspaceStart WorkspaceEvent = "start"
	// WorkspaceAway and WorkspaceBack are what its Agent does.
	WorkspaceAway   WorkspaceEvent = "away"
	WorkspaceBack   WorkspaceEvent = "back"
	WorkspaceDelete WorkspaceEvent = "delete"
)

// WorkspaceEvents are all of them.
var WorkspaceEvents = []WorkspaceEvent{WorkspaceMade, WorkspaceReady, WorkspaceFailed, WorkspaceRetry, WorkspaceStop, WorkspaceEnded,
	WorkspaceStart, WorkspaceAway, WorkspaceBack, WorkspaceDelete}

// workspaceTable lists every pair that is possible.
var workspaceTable = map[WorkspaceState]map[WorkspaceEvent]WorkspaceState{
	WorkspaceCreating: {WorkspaceMade: WorkspaceSetup, WorkspaceReady: WorkspaceRunning, WorkspaceFailed: WorkspaceSetupFailed},
	WorkspaceSetup:    {WorkspaceReady: WorkspaceRunning, WorkspaceFailed: WorkspaceSetupFailed},
	WorkspaceRunning: {WorkspaceStop: WorkspaceStopping, WorkspaceStart: WorkspaceRunning, WorkspaceAway: WorkspaceOffline,
		WorkspaceDelete: WorkspaceDeleted},
	WorkspaceSetupFailed: {WorkspaceRetry: WorkspaceCreating, WorkspaceDelete: WorkspaceDeleted},
	// A stop that did not come to its end is begun again.
	WorkspaceStopping: {WorkspaceStop: WorkspaceStopping, WorkspaceEnded: WorkspaceStopped, WorkspaceAway: WorkspaceOffline},
	WorkspaceStopped:  {WorkspaceStop: WorkspaceStopped, WorkspaceStart: WorkspaceRunning, WorkspaceAway: WorkspaceOffline, WorkspaceDelete: WorkspaceDeleted},
	WorkspaceOffline:  {WorkspaceBack: WorkspaceRunning, WorkspaceAway: WorkspaceOffline, WorkspaceDelete: WorkspaceDeleted},
}

// NextWorkspace is the transition table of a Workspace: pure and total. A pair that is not possible is a KindWrongState Error.
func NextWorkspace(s WorkspaceState, e WorkspaceEvent) (WorkspaceState, *Error) {
	if s == "" {
		// A record from before there were states.
		s = WorkspaceRunning
	}
	if to, ok := workspaceTable[s][e]; ok {
		return to, nil
	}
	return "", &Error{Kind: KindWrongState, Message: "This is not possible while the workspace is " + s.Words() + "."}
}

// Words name a state for a person.
func (s WorkspaceState) Words() string {
	switch s {
	case WorkspaceCreating:
		return "being made"
	case WorkspaceSetup:
		return "being set up"
	case WorkspaceSetupFailed:
		return "not set up"
	case WorkspaceStopping:
		return "being stopped"
	case "":
		return string(WorkspaceRunning)
	}
	return string(s)
}

// Standing is the record's state; one from before there were states runs.
func (w *WorkspaceRecord) Standing() WorkspaceState {
	if w.State == "" {
		return WorkspaceRunning
	}
	return w.State
}

// Unmade says whether there is no directory yet. That of the Workspace with which an Agent was enrolled is the Agent's.
func (w *WorkspaceRecord) Unmade() bool {
	return (w.Kind == WorkspaceLocal || w.MadeBeside()) && w.Directory == ""
}

// MadeBeside says whether it was made beside an Agent that has a Workspace of its own.
func (w *WorkspaceRecord) MadeBeside() bool {
	return w.Kind == WorkspaceAgent && w.Made.TemplateID != ""
}

// Move puts the record into the state that an event leads to.
func (w *WorkspaceRecord) Move(e WorkspaceEvent) error {
	to, no := NextWorkspace(w.State, e)
	if no != nil {
		return no
	}
	w.State = to
	return nil
}
