// What waits behind a running turn: written anew in its row, and dragged into another order.
(() => {
'use strict'
const { $, post, apply, parse, toast, compose, attach, nameFiles, acts } = window.holdfast

// The one queued message that is written anew. Its form stands in a place of the row that patches leave alone; it goes with the row.
let form = null
const row = () => form?.closest('li')
async function edit(b) {
  const li = b.closest('li')
  if (form?.isConnected && row() === li) return form.elements.text.focus()
  b.disabled = true
  const res = await fetch(b.dataset.url, { headers: { Accept: 'text/html' } }).catch(() => null)
  b.disabled = false
  if (!res?.ok) return toast(res?.status === 404 ? 'That is no longer there.' : 'The message could not be read; try again.')
  const fresh = parse(await res.text()).children[0]
  const place = $(li.id)?.querySelector('.place')
  if (!place) return toast('That is no longer there.')
  leave()
  form = fresh
  place.append(form)
  const area = form.elements.text
  area.addEventListener('keydown', keys)
  form.addEventListener('submit', save)
  area.focus()
  area.setSelectionRange(area.value.length, area.value.length)
}
function keys(e) {
  if (e.key === 'Escape' && !e.isComposing) { e.preventDefault(); return leave(true) }
  if (e.key !== 'Enter' || e.isComposing || e.shiftKey || e.altKey) return
  e.preventDefault()
  form.now = e.ctrlKey || e.metaKey
  form.requestSubmit()
}
function leave(back) {
  const old = form, li = row()
  form = null
  old?.remove()
  if (back) (li?.querySelector('[data-act=queue-edit]') || $('composer-text')).focus()
}
async function save(e) {
  e.preventDefault()
  const mine = form, text = mine.elements.text.value, send = mine.querySelector('[type=submit]')
  if (send.disabled) return
  send.disabled = true
  const now = mine.now
  mine.now = false
  const { ok, html, gone } = await post(mine.getAttribute('action'), { text }, true)
  send.disabled = false
  if (html) apply(html)
  if (form === mine && gone) lost()
  else if (form === mine && ok && mine.elements.text.value === text) leave(true)
  else if (form === mine) look()
  // What was taken since has nothing left to hurry.
  if (ok && now) await post(mine.dataset.now, '', true)
}
// It was taken, or removed elsewhere: what was typed here is not lost.
function lost() {
  const area = form.elements.text, files = form.dataset.files.split(' ').filter(Boolean), refs = JSON.parse(form.dataset.refs)
  leave()
  compose(area.value)
  if (files.length) attach(files)
  if (refs.length) nameFiles(refs)
  toast('That message was taken meanwhile. Your text is in the composer.')
}
// After each change of the queue: the form may have lost its row, or the focus its button.
let at = ''
function look() {
  if (form && !form.isConnected && !form.querySelector('[type=submit]').disabled) return lost()
  if (document.activeElement && document.activeElement !== document.body) return
  if (form?.isConnected) return form.elements.text.focus()
  if (at) ($(at) || document.querySelector('#queue li'))?.querySelector('[data-act=queue-edit]').focus()
}
document.addEventListener('focusin', e => { at = waits(e)?.id || '' })
document.addEventListener('pointerdown', e => { if (!waits(e)) at = '' })

// By the pointer: it goes before the one that it is dropped on.
let dragged = ''
const waits = e => e.target.closest?.('#queue li')
function drags(e) {
  const li = waits(e)
  if (e.type === 'dragstart') {
    // Text in the form is dragged as text.
    if (li && !e.target.closest('.place')) { dragged = li.id; e.dataTransfer.effectAllowed = 'move' }
  } else if (e.type === 'dragend') dragged = ''
  else if (dragged && li && li.id !== dragged) {
    e.preventDefault()
    if (e.type === 'drop') post($(dragged).dataset.url, { before: li.id.slice(2) }).then(({ html }) => html && apply(html))
  }
}
for (const name of ['dragstart', 'dragover', 'drop', 'dragend']) document.addEventListener(name, drags)

acts['queue-edit'] = edit
acts['queue-cancel'] = () => leave(true)
document.addEventListener('DOMContentLoaded', () => {
  const dock = $('dock')
  if (dock) new MutationObserver(look).observe(dock, { childList: true, subtree: true })
})
})()
