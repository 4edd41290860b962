package ui_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/audit"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/engine/health"
	"holdfast/engine/mcp"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	rules "holdfast/engine/rule"
	"holdfast/engine/runlog"
	"holdfast/engine/seal"
	"holdfast/engine/search"
	"holdfast/engine/site"
	"holdfast/engine/snapshot"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
)

// rule is whom a command lets in. A new command is put under one of them by hand.
type rule string

const (
	anybody      rule = "everybody who is signed in, who changes nothing"
	anybodyWrite rule = "everybody who is signed in, to change what is theirs"
	admins       rule = "admins, who look"
	adminsWrite  rule = "admins, who change the appliance"
	owns         rule = "the owner of the thing, who looks"
	ownsWrite    rule = "the owner of the thing, who changes it"
	self         rule = "the person and admins, who look"
	selfWrite    rule = "the person and admins, who change it"
)

// commands is the whole table, a line of words for each rule and room.
var commands = map[rule]map[string]string{
	anybody: {
		"engine":    "List WatchList Overview Families Swap",
		"account":   "Me",
		"mcp":       "List Get",
		"model":     "List Get Status Installed Threshold",
		"notice":    "Follow Since Reached List Muted",
		"outbound":  "Left",
		"rule":      "Site TrySite",
		"runlog":    "Setting",
		"search":    "Search",
		"snapshot":  "Refresh",
		"site":      "Advisor Behaviour Classifier Compaction Fixed PlanMode TurnSummaries",
		"usage":     "Limits",
		"workspace": "Beside List ListTemplates GetTemplate TTL Watch",
	},
	anybodyWrite: {
		"engine":    "Create Import",
		"account":   "ChangePassword",
		"file":      "Upload",
		"mcp":       "Connect Disconnect",
		"model":     "SetThreshold",
		"notice":    "Subscribe AddHook Remove Try Read Mute",
		"snapshot":  "SetRefresh",
		"workspace": "Make",
	},
	admins: {
		"agent":    "List Watch",
		"account":  "ListUsers GetUser",
		"audit":    "List Check",
		"health":   "Bundle Doctor Report",
		"outbound": "Report",
		"usage":    "Overall Users",
		"mcp":      "Tools",
	},
	adminsWrite: {
		"agent":     "Enrol Renew Revoke",
		"account":   "CreateUser UpdateUser DeleteUser",
		"mcp":       "Create Update Delete Test Accept",
		"model":     "Create Update Delete Default Connect Demo Offered Probe Pull Import DeleteInstalled",
		"outbound":  "SetMode Allow Forget",
		"rule":      "SetSite",
		"runlog":    "SetSetting",
		"seal":      "Rotate",
		"site":      "SetAdvisor SetBehaviour SetClassifier SetCompaction SetPlanMode SetTurnSummaries",
		"usage":     "SetLimits",
		"workspace": "Create CreateTemplate UpdateTemplate DeleteTemplate SetTTL",
	},
	owns: {
		"engine":    "Get View Message Watch WatchContext Unread Seen Processes Changes Repositories Transcript",
		"file":      "Get Open",
		"rule":      "Workspace Chat TryWorkspace TryChat",
		"runlog":    "List Get Turns",
		"snapshot":  "Place Chat Compare Text Sources Source Servers",
		"usage":     "ChatCost",
		"workspace": "Get Paths Sandbox Text",
	},
	ownsWrite: {
		"engine":    "StopProcess Send Edit Fork Interrupt Retry Compact Clear Amend Title Delete Submit Answer EditQueued DeleteQueued Promote Restore Pin",
		"snapshot":  "AddSource RemoveSource Resync ApproveServer RefuseServer",
		"rule":      "SetWorkspace SetChat",
		"workspace": "Update Start Stop Delete",
	},
	self: {
		"account": "ListTokens ListSessions",
		"usage":   "Summary Standing",
	},
	selfWrite: {
		"account": "CreateToken RevokeToken CreateLogin RevokeSession",
	},
}

// asker is somebody, and what each rule says to them: "" lets them in.
type asker struct {
	who  chat.Principal
	gets map[rule]chat.Kind
}

const (
	ownerID  chat.UserID = "01932d3a-0000-7000-8000-000000000001"
	othersID chat.UserID = "01932d3a-0000-7000-8000-000000000002"
	thingID              = "01932d3a-0000-7000-8000-000000000003"
)

func askers() map[string]asker {
	const no, none, out = chat.KindForbidden, chat.KindNotFound, chat.KindUnauthenticated
	stranger := chat.Principal{UserID: othersID, Name: "other", Role: chat.UserMember}
	admin, readOnlyAdmin := stranger, stranger
	admin.Role, readOnlyAdmin.Role, readOnlyAdmin.ReadOnly = chat.UserAdmin, chat.UserAdmin, true
	owner := chat.Principal{UserID: ownerID, Name: "owner", Role: chat.UserMember}
	readOnly := owner
	readOnly.ReadOnly = true
	nobody := map[rule]chat.Kind{}
	for r := range commands {
		nobody[r] = out
	}
	return map[string]asker{
		"a member":           {stranger, map[rule]chat.Kind{admins: no, adminsWrite: no, owns: none, ownsWrite: none, self: none, selfWrite: none}},
		"an admin":           {admin, map[rule]chat.Kind{owns: none, ownsWrite: none}},
		"a read-only admin":  {readOnlyAdmin, map[rule]chat.Kind{anybodyWrite: no, adminsWrite: no, owns: none, ownsWrite: none, selfWrite: no}},
		"the owner":          {owner, map[rule]chat.Kind{admins: no, adminsWrite: no}},
		"the read-only self": {readOnly, map[rule]chat.Kind{anybodyWrite: no, admins: no, adminsWrite: no, ownsWrite: no, selfWrite: no}},
		"nobody":             {chat.Principal{}, nobody},
	}
}

// guarded gives the rooms behind their guards, by name. There are no rooms: who is let in finds nothing to run.
func guarded(record func(context.Context, chat.Audit)) map[string]reflect.Value {
	of := func(_ context.Context, id string) (chat.UserID, error) {
		if id == thingID {
			return ownerID, nil
		}
		return "", nil
	}
	g := account.NewGuard(account.Owners{
		Chat:      func(ctx context.Context, id chat.ID) (chat.UserID, error) { return of(ctx, string(id)) },
		Workspace: func(ctx context.Context, id chat.WorkspaceID) (chat.UserID, error) { return of(ctx, string(id)) },
		File:      func(ctx context.Context, id chat.FileID) (chat.UserID, error) { return of(ctx, string(id)) },
	}, metric.New())
	g.AuditTo(record)
	all := map[string]reflect.Value{}
	for name, room := range map[string]any{"engine": engine.NewGuarded(nil, g), "account": account.NewGuarded(nil, g), "agent": agent.NewGuarded(nil, g), "file": file.NewGuarded(nil, g),
		"audit": audit.NewGuarded(nil, g), "health": health.NewGuarded(nil, g),
		"model": model.NewGuarded(nil, g), "notice": notice.NewGuarded(nil, g), "outbound": outbound.NewGuarded(nil, g), "rule": rules.NewGuarded(nil, g), "runlog": runlog.NewGuarded(nil, g), "seal": seal.NewGuarded(nil, g), "search": search.NewGuarded(nil, g), "site": site.NewGuarded(nil, g),
		"snapshot": snapshot.NewGuarded(nil, g), "mcp": mcp.NewGuarded(nil, g),
		"usage": usage.NewGuarded(nil, g), "workspace": workspace.NewGuarded(nil, g)} {
		all[name] = reflect.ValueOf(room)
	}
	return all
}

// Each command of each room, asked by everybody who may ask: case 29 and case 30 below the routes.
func TestWhoMayDoWhat(t *testing.T) {
	var recorded []string
	rooms := guarded(func(_ context.Context, a chat.Audit) { recorded = append(recorded, a.Action) })
	files, err := filepath.Glob("../engine/*/guarded_gen.go")
	if err != nil || len(files) != len(rooms)-1 {
		t.Errorf("the test knows %v, there are %v, %v", slices.Sorted(maps.Keys(rooms)), files, err)
	}
	ruleOf := map[string]rule{}
	for r, byRoom := range commands {
		for room, names := range byRoom {
			for _, name := range strings.Fields(names) {
				if _, twice := ruleOf[room+"."+name]; twice {
					t.Errorf("%s.%s is in the table twice", room, name)
				}
				ruleOf[room+"."+name] = r
			}
		}
	}
	everybody := askers()
	for room, v := range rooms {
		for i := range v.NumMethod() {
			name := room + "." + v.Type().Method(i).Name
			r, ok := ruleOf[name]
			delete(ruleOf, name)
			if !ok {
				t.Errorf("%s is not in the table: who may use it?", name)
				continue
			}
			for who, a := range everybody {
				recorded = nil
				got, fell := asked(t, v.Method(i), a.who)
				if got != a.gets[r] {
					t.Errorf("%s is for %s; %s gets %q, want %q", name, r, who, got, a.gets[r])
				}
				// A command that falls into no room has failed in the middle, which is on record too.
				want := fell && isRecorded(name, r)
				if want != slices.Contains(recorded, name) || len(recorded) > 1 {
					t.Errorf("%s by %s: the audit has %v, is to be recorded: %v", name, who, recorded, want)
				}
			}
		}
	}
	for name := range ruleOf {
		t.Errorf("%s is in the table, and there is no such command", name)
	}
}

// alsoRecorded are the commands that the audit holds beside those of admins and those about a person.
var alsoRecorded = "account.ChangePassword engine.Answer rule.SetWorkspace rule.SetChat snapshot.ApproveServer snapshot.RefuseServer"

// isRecorded: whatever changes the appliance or what a person may do; nobody has to remember it for a new command.
func isRecorded(name string, r rule) bool {
	return r == adminsWrite || r == selfWrite || slices.Contains(strings.Fields(alsoRecorded), name)
}

// asked gives with which kind of error a command refuses somebody, "" when it does not. Whom it lets in falls into the room that is not there,
// unless the empty input is refused before.
func asked(t *testing.T, command reflect.Value, who chat.Principal) (kind chat.Kind, fell bool) {
	t.Helper()
	in := reflect.New(command.Type().In(2)).Elem()
	name(in)
	defer func() {
		if recover() != nil {
			kind, fell = "", true
		}
	}()
	out := command.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(who), in})
	var refused *chat.Error
	if err, ok := out[len(out)-1].Interface().(error); ok && errors.As(err, &refused) && refused.Kind != chat.KindInvalid {
		return refused.Kind, false
	}
	return "", false
}

// name fills in the owner and what is theirs wherever an input names a person or a thing.
func name(in reflect.Value) {
	if in.Kind() != reflect.Struct {
		return
	}
	for i := range in.NumField() {
		f := in.Field(i)
		if !f.CanSet() {
			continue
		}
		switch f.Interface().(type) {
		case chat.ID, chat.WorkspaceID, chat.FileID:
			f.SetString(thingID)
		case chat.UserID:
			f.SetString(string(ownerID))
		default:
			name(f)
		}
	}
}
