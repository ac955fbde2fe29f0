// Copyright The profiletometrics Authors
// SPDX-License-Identifier: Apache-2.0

package profiletometricszextension

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/profiletometrics/profiletometrics/internal/webserver"
)

const (
	// path is the only one that is served, in the manner of zpages.
	path = "/debug/profiletometricsz"

	paramSort      = "sort"
	sortFlat       = "flat" // the default
	sortCumulative = "cumulative"
)

// handler answers HTTP requests.
type handler struct {
	extension *liveExtension
	build     component.BuildInfo
	// looking is held while a request looks at the connectors: however many come,
	// they disturb the connectors like one.
	looking chan struct{}
}

func newHandler(e *liveExtension) *handler {
	return &handler{extension: e, build: e.settings.BuildInfo, looking: make(chan struct{}, 1)}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	webserver.Secure(w.Header(), contentPolicy)
	query := r.URL.Query()
	order := query.Get(paramSort)
	switch {
	case r.URL.Path != path:
		http.Error(w, "There is only "+path+".", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The page can only be read: use GET.", http.StatusMethodNotAllowed)
	case query.Has(paramSort) && order != sortFlat && order != sortCumulative:
		http.Error(w, "The parameter sort is flat or cumulative.", http.StatusBadRequest)
	default:
		h.answer(w, r, order == sortCumulative)
	}
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request, byCumulative bool) {
	select {
	case h.looking <- struct{}{}:
	case <-r.Context().Done(): // the caller is gone, or the collector ends
		http.Error(w, "The collector is shutting down.", http.StatusServiceUnavailable)
		return
	}
	shown := h.look(byCumulative)
	<-h.looking
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, shown); err != nil {
		http.Error(w, "The page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	if r.Method == http.MethodGet {
		_, _ = body.WriteTo(w) // it fails if nobody waits any more
	}
}

func (h *handler) look(byCumulative bool) page {
	shown := page{Build: h.build, Now: time.Now(), ByCumulative: byCumulative}
	for i, c := range h.extension.connectors() {
		shown.Connectors = append(shown.Connectors, section{
			Anchor:       "connector-" + strconv.Itoa(i+1),
			ID:           c.id.String(),
			Connector:    c.look(),
			Now:          shown.Now,
			ByCumulative: byCumulative,
		})
	}
	return shown
}
