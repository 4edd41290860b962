package ui

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/engine/outbound"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// listOther answers the form with the models of the server in it, to choose from. One that lists none may still have one, which is
// then typed.
func (s *Site) listOther(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	base, key := otherServer(r.PostForm)
	all, err := s.models.Offered(r.Context(), gate.Principal(r.Context()), model.OfferedInput{BaseURL: base, APIKey: key})
	if err != nil && !readableError(err) {
		gate.WriteError(w, r, err)
		return
	}
	list := view.OtherList{BaseURL: base, Asked: true}
	if err != nil {
		list.Problem = sentence(err)
	}
	for _, m := range all {
		if m.Can("completion") {
			list.Models = append(list.Models, m.Name)
		}
	}
	s.fragment(w, r, view.OtherModels(list))
}

// addOther makes a Model config for a model of another server. The key is not part of any answer, so it is typed again after a refusal.
func (s *Site) addOther(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	provider, id, name := chat.ProviderOpenAI, strings.TrimSpace(r.PostForm.Get("model")), strings.TrimSpace(r.PostForm.Get("name"))
	base, key := otherServer(r.PostForm)
	in := model.Fields{Provider: &provider, BaseURL: &base, Model: &id}
	if key.Set() {
		in.APIKey = &key
	}
	if name != "" {
		in.Name = &name
	}
	_, err := s.models.Create(r.Context(), gate.Principal(r.Context()), model.CreateInput{Fields: in})
	switch {
	case err == nil:
		http.Redirect(w, r, "/models", http.StatusSeeOther)
	case readableError(err):
		data := s.modelsData(r)
		data.Other = view.OtherList{BaseURL: base, Asked: true, Problem: sentence(err)}
		s.document(w, r, http.StatusUnprocessableEntity, view.ModelsDocument(data))
	default:
		gate.WriteError(w, r, err)
	}
}

func otherServer(form url.Values) (base string, key chat.Secret) {
	return strings.TrimSpace(form.Get("base_url")), chat.NewSecret(strings.TrimSpace(form.Get("api_key")))
}

// otherFields reads the fields that only the form of such a config has. An empty key keeps the one that is stored.
func otherFields(form url.Values, in *model.Fields) {
	if !form.Has("base_url") {
		return
	}
	base, key := otherServer(form)
	in.BaseURL = &base
	if key.Set() || form.Get("forget_key") != "" {
		in.APIKey = &key
	}
}

// servers says in a line what answers, and whom this machine called today or is set up to call.
func servers(status chat.ServerStatus, configs []chat.ModelConfig, left outbound.Left) view.ServerNote {
	var away []string
	own := false
	for _, c := range configs {
		switch {
		case !c.Enabled:
		case c.Provider == chat.ProviderOpenAI:
			away = append(away, cmp.Or(c.Host, hostOf(c.BaseURL)))
		case c.Provider == chat.ProviderOllama:
			own = true
		}
	}
	own = own || len(away) == 0
	away = slices.Compact(slices.Sorted(slices.Values(away)))
	note := view.ServerNote{State: "ok", Text: "Model server ready", Linked: left.Count > 0 && left.Hosts != nil}
	switch {
	case own && !status.Reachable:
		note.State, note.Text = "warn", "Model server does not answer"
	case !own:
		note.Text = "Models set up"
	}
	if own {
		away = append([]string{hostOf(status.URL)}, away...)
	}
	out := slices.DeleteFunc(slices.Clone(away), loopback)
	switch {
	case len(left.Hosts) > 0:
		note.Out = "called " + andMore(left.Hosts) + " today"
	case left.Count > 0:
		note.Out = "called " + view.Count(left.Count, "host") + " today"
	case len(out) > 0:
		note.Out = "sends to " + andMore(out)
	default:
		note.Out = "nothing sent today"
	}
	return note
}

func andMore(hosts []string) string {
	if len(hosts) == 1 {
		return hosts[0]
	}
	return hosts[0] + " and " + strconv.Itoa(len(hosts)-1) + " more"
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Hostname()
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
