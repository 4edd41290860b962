package ui

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// serverEvery is how often a page that waits for the model server looks again.
const serverEvery = 2 * time.Second

func (s *Site) server(r *http.Request) view.Server {
	status, err := s.models.Status(r.Context(), gate.Principal(r.Context()), model.StatusInput{})
	if err != nil {
		return view.Server{Problem: sentence(err)}
	}
	out := view.Server{Reachable: status.Reachable, Address: status.URL, Version: status.Version, Problem: status.Problem, Queue: status.Queue}
	if status.MemoryBytes > 0 {
		out.Memory = view.Bytes(status.MemoryBytes)
	}
	out.Loaded = loadedViews(status.Loaded, time.Now())
	return out
}

// loadedViews says what is in the server's memory. A model that its graphics card holds in part is slow, and a smaller window may mend that.
func loadedViews(list []chat.LoadedModel, now time.Time) []view.LoadedModel {
	var out []view.LoadedModel
	for _, m := range list {
		facts := []string{view.Bytes(m.Size)}
		if m.Context > 0 {
			facts = append(facts, "window "+view.Window(m.Context))
		}
		switch left := m.ExpiresAt.Sub(now); {
		case left > 30*24*time.Hour:
			facts = append(facts, "stays")
		case left > 0:
			facts = append(facts, "for "+view.Took(left.Truncate(time.Second)))
		}
		v := view.LoadedModel{Name: m.Name, Facts: strings.Join(facts, " · ")}
		if m.SizeVRAM > 0 && m.SizeVRAM < m.Size {
			v.Spills = strconv.FormatInt(100-m.SizeVRAM*100/m.Size, 10) + " % beside the graphics card"
		}
		out = append(out, v)
	}
	return out
}

// modelsData is everything that the models page shows.
func (s *Site) modelsData(r *http.Request) view.ModelsPage {
	ctx, p, lists := r.Context(), gate.Principal(r.Context()), s.pulls.listChanges()
	page := view.ModelsPage{Page: s.page("Models"), Note: s.serverNote(ctx, p), Server: s.server(r), Pulls: s.pulls.views(), Admin: p.Admin()}
	// What is changed from here on comes by the stream.
	page.Page.Stream = "/models/stream?lists=" + strconv.Itoa(lists)
	configs, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		page.Problem = sentence(err)
		return page
	}
	var installed []chat.InstalledModel
	var loaded []chat.LoadedModel
	if page.Server.Reachable {
		if installed, err = s.models.Installed(ctx, p, model.InstalledInput{}); err != nil {
			page.Problem = sentence(err)
		}
		if status, err := s.models.Status(ctx, p, model.StatusInput{}); err == nil {
			loaded = status.Loaded
		}
	}
	var size int64
	for _, m := range installed {
		size += m.Size
	}
	if size > 0 {
		page.Server.Disk = view.Bytes(size)
	}
	for _, c := range configs {
		shown := configView(c, installed, page.Server.Reachable)
		shown.Test = s.testView(r, c)
		if at, err := s.models.Threshold(ctx, p, model.ThresholdInput{ID: c.ID}); err == nil {
			shown.CompactAt = at.Percent
			if at.Own != nil {
				shown.OwnThreshold = strconv.Itoa(*at.Own)
			}
		}
		page.Configs = append(page.Configs, shown)
	}
	page.Models = installedViews(installed, configs, loaded)
	return page
}

func configView(c chat.ModelConfig, installed []chat.InstalledModel, reachable bool) view.ModelConfig {
	out := view.ModelConfig{ID: string(c.ID), Name: c.Name, Model: c.Model, Default: c.IsDefault, Can: c.Capabilities, Window: windowShown(c),
		Groups: configGroups(c, configValues(c), nil)}
	if c.Provider == chat.ProviderDemo {
		out.Options = "scripted, inside Holdfast"
		return out
	}
	out.Missing = reachable
	for _, m := range installed {
		out.Missing = out.Missing && !strings.EqualFold(m.Name, c.Model)
	}
	if !c.Enabled {
		out.Options = "switched off"
	}
	if c.Provider == chat.ProviderOpenAI {
		out.Other = &view.OtherServer{BaseURL: cmp.Or(c.BaseURL, c.Host), HasKey: c.HasAPIKey, KeyLost: c.APIKeyLost}
		out.Missing = false
	}
	return out
}

func installedViews(list []chat.InstalledModel, configs []chat.ModelConfig, loaded []chat.LoadedModel) []view.Model {
	var out []view.Model
	suggested := false
	for _, m := range list {
		v := view.Model{Name: m.Name, Size: view.Bytes(m.Size), Capabilities: m.Capabilities, Chats: m.Can("completion")}
		v.Detail = strings.Trim(m.ParameterSize+" "+m.Quantization, " ")
		switch {
		case m.SuggestedWindow > 0 && m.TrainedWindow > m.SuggestedWindow:
			v.Window = view.Window(m.SuggestedWindow) + " of " + view.Window(m.TrainedWindow)
		case m.TrainedWindow > 0:
			v.Window = view.Window(m.TrainedWindow)
		}
		if m.Fits != nil {
			v.Fit = "too large"
			if *m.Fits {
				v.Fit = "fits"
			}
		}
		if m.SuggestedWindow > 0 {
			v.FitDetail = "with a window of " + view.Window(m.SuggestedWindow)
		}
		for _, c := range configs {
			if c.Provider != chat.ProviderOllama {
				continue
			}
			v.Configured = v.Configured || c.Enabled && strings.EqualFold(c.Model, m.Name)
			// The default was chosen for this machine: the largest that calls tools and fits.
			v.Suggested = v.Suggested || c.IsDefault && strings.EqualFold(c.Model, m.Name)
		}
		for _, l := range loaded {
			v.Loaded = v.Loaded || strings.EqualFold(l.Name, m.Name)
		}
		suggested = suggested || v.Suggested
		out = append(out, v)
	}
	for i := range out {
		if !suggested && out[i].Chats {
			out[i].Suggested = true
			break
		}
	}
	return out
}

func (s *Site) modelsPage(w http.ResponseWriter, r *http.Request) {
	s.document(w, r, http.StatusOK, view.ModelsDocument(s.modelsData(r)))
}

// modelsStream follows downloads and is the only writer of the lists; on the first page of all it waits for the model server. A page whose lists
// were changed while nothing followed them, as in a hidden tab, gets them first.
func (s *Site) modelsStream(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	wakes, stop := s.pulls.subscribe()
	defer stop()
	tests, stopTests := s.probes.subscribe()
	defer stopTests()
	shown := map[string]download{}
	out := openFrames(w)
	look := time.NewTicker(serverEvery)
	defer look.Stop()
	start := r.URL.Query().Get("page") == "start"
	reachable := false
	lists, err := strconv.Atoi(r.URL.Query().Get("lists"))
	if err != nil {
		lists = s.pulls.listChanges()
	}
	for first := true; ; first = false {
		patches := []patch{{html: view.PullList(s.pulls.views())}}
		if !start {
			patches = append(patches, s.testPatches(r, shown)...)
		}
		if start && (first || !reachable) {
			server := s.server(r)
			if server.Reachable != reachable {
				reachable = server.Reachable
				patches = []patch{{html: view.Onboarding(s.onboardingData(r, ""))}}
			}
		}
		if n := s.pulls.listChanges(); n != lists {
			lists = n
			if start {
				patches = []patch{{html: view.Onboarding(s.onboardingData(r, ""))}}
			} else {
				data := s.modelsData(r)
				patches = append(patches, patch{html: templ.Join(view.ConfigsSection(data), view.InstalledSection(data), view.ServerSection(data))})
			}
		}
		if err := out.send(ctx, patches...); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-wakes:
		case <-tests:
		case <-look.C:
		}
	}
}

func (s *Site) importModel(w http.ResponseWriter, r *http.Request) {
	err := s.readImport(r)
	if err == nil {
		s.pulls.changeLists()
	}
	s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("import-error", sentence(e)) })
}

// readImport takes the form's name and size and then its file, which is passed on as it comes.
func (s *Site) readImport(r *http.Request) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return chat.Invalid("file", "The form cannot be read.")
	}
	name, size := "", int64(0)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return chat.Invalid("file", "Choose a GGUF file.")
		}
		if err != nil {
			return chat.Invalid("file", "The upload broke off.")
		}
		if field := part.FormName(); field == "name" || field == "size" {
			b, err := io.ReadAll(io.LimitReader(part, 200))
			if err != nil {
				return chat.Invalid(field, "It cannot be read.")
			}
			if field == "name" {
				name = strings.TrimSpace(string(b))
			} else if size, err = strconv.ParseInt(string(b), 10, 64); err != nil {
				return chat.Invalid("size", "It must be a number of bytes.")
			}
			continue
		}
		if part.FormName() != "file" {
			continue
		}
		_, err = s.models.Import(r.Context(), gate.Principal(r.Context()), model.ImportInput{Name: name, Body: part, Size: size})
		return err
	}
}

func (s *Site) deleteInstalled(w http.ResponseWriter, r *http.Request) {
	_, err := s.models.DeleteInstalled(r.Context(), gate.Principal(r.Context()), model.DeleteInstalledInput{Name: r.FormValue("name")})
	s.sections(w, r, err)
}

// sections answers a change of the lists, which come by the page's stream.
func (s *Site) sections(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		s.pulls.changeLists()
	}
	s.done(w, r, err)
}

// createConfig takes an installed model into use. From the first page of all the chosen model becomes the default and the way leads on.
func (s *Site) createConfig(w http.ResponseWriter, r *http.Request) {
	ctx, p, name := r.Context(), gate.Principal(r.Context()), r.FormValue("model")
	next := r.FormValue("next")
	c, err := s.configOf(ctx, p, name)
	if err == nil && next != "" {
		_, err = s.models.Default(ctx, p, model.DefaultInput{ID: c.ID})
	}
	switch {
	case next == "":
		s.sections(w, r, err)
	case err != nil && readableError(err):
		s.onboarding(w, r, sentence(err))
	case err != nil:
		gate.WriteError(w, r, err)
	default:
		http.Redirect(w, r, "/?start=1", http.StatusSeeOther)
	}
}

// configOf gives the Model config of an installed model, and makes one where there is none.
func (s *Site) configOf(ctx context.Context, p chat.Principal, name string) (chat.ModelConfig, error) {
	list, err := s.models.List(ctx, p, model.ListInput{})
	if err != nil {
		return chat.ModelConfig{}, err
	}
	for _, c := range list {
		if c.Enabled && c.Provider != chat.ProviderOpenAI && strings.EqualFold(c.Model, name) {
			return c, nil
		}
	}
	provider := chat.ProviderOllama
	return s.models.Create(ctx, p, model.CreateInput{Fields: model.Fields{Provider: &provider, Model: &name}})
}

func (s *Site) defaultConfig(w http.ResponseWriter, r *http.Request) {
	_, err := s.models.Default(r.Context(), gate.Principal(r.Context()), model.DefaultInput{ID: chat.ModelConfigID(r.PathValue("id"))})
	s.sections(w, r, err)
}

func (s *Site) deleteConfig(w http.ResponseWriter, r *http.Request) {
	_, err := s.models.Delete(r.Context(), gate.Principal(r.Context()), model.DeleteInput{ID: chat.ModelConfigID(r.PathValue("id"))})
	s.sections(w, r, err)
}

func (s *Site) demoModel(w http.ResponseWriter, r *http.Request) {
	c, err := s.models.Demo(r.Context(), gate.Principal(r.Context()), model.DemoInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	http.Redirect(w, r, "/?start=1&model_config_id="+string(c.ID), http.StatusSeeOther)
}

// connectServer goes over to the model server at another address.
func (s *Site) connectServer(w http.ResponseWriter, r *http.Request) {
	status, err := s.models.Connect(r.Context(), gate.Principal(r.Context()), model.ConnectInput{URL: strings.TrimSpace(r.FormValue("url"))})
	if err == nil && !status.Reachable {
		err = &chat.Error{Kind: chat.KindUnreachable, Message: status.URL + " does not answer.", Detail: status.Problem}
	}
	if err != nil || r.FormValue("on") != "models" {
		// The first page of all follows its server by itself.
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("server-error", sentence(e)) })
		return
	}
	s.pulls.changeLists()
	s.fragment(w, r, view.FormError("server-error", ""))
}

// readableError says whether a person can read what went wrong and try again.
func readableError(err error) bool {
	var e *chat.Error
	return errors.As(err, &e) && e.Kind != chat.KindInternal
}
