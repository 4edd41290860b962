// Files of the message that is being written: chosen, dropped or pasted, uploaded at once, named by hidden fields of the composer.
(() => {
'use strict'
const $ = id => document.getElementById(id)
const most = 10 * 1024 * 1024, mostFiles = 20
// Text that is longer becomes a file when it is pasted.
const longText = 10000
const slot = () => 'files ' + ($('composer').dataset.chat || 'new')
const keep = ids => { try { ids.length ? localStorage.setItem(slot(), ids.join(' ')) : localStorage.removeItem(slot()) } catch { /* private mode keeps nothing */ } }
const kept = () => { try { return (localStorage.getItem(slot()) || '').split(' ').filter(Boolean) } catch { return [] } }
const chips = () => [...$('files').querySelectorAll('.is-file')]
const ids = () => chips().map(c => c.querySelector('input')?.value).filter(Boolean)
const say = text => { $('files-said').textContent = text }
const complain = text => {
  $('composer-error').textContent = text
}

// What is here decides what else shows: the row itself, the warning of a model without eyes, whether a text is needed.
function changed() {
  const all = chips(), list = $('files')
  const choice = $('pick-model_config_id')?.selectedOptions[0]
  const blind = choice && 'blind' in choice.dataset && all.some(c => 'picture' in c.dataset)
  $('blind').hidden = !blind
  const words = blind ? choice.text.trim() + ' cannot see images' : ''
  if ($('blind').lastElementChild.textContent !== words) $('blind').lastElementChild.textContent = words
  list.hidden = !all.length
  $('composer-text').required = !ids().length && !sending.size
  $('composer-error').replaceChildren()
  keep(ids())
}

// Uploads under way, by their chip.
const sending = new Map()
function refused(name, problem) {
  const chip = $('file-sending').content.firstElementChild.cloneNode(true)
  chip.dataset.refused = ''
  chip.classList.add('danger')
  chip.querySelector('use').setAttribute('href', '#i-fail')
  chip.querySelector('.icon').classList.remove('is-run')
  const [what, why] = chip.querySelectorAll('span, small')
  what.textContent = what.title = name
  why.textContent = problem
  label(chip, 'Remove ' + name)
  return chip
}
function label(chip, text) {
  const button = chip.querySelector('button')
  button.setAttribute('aria-label', text)
  button.title = text
}
function upload(file) {
  const name = file.name || 'pasted text'
  if (file.size > most) {
    $('blind').before(refused(name, 'larger than 10 MiB'))
    say(name + ' is larger than 10 MiB')
    return changed()
  }
  const chip = $('file-sending').content.firstElementChild.cloneNode(true), req = new XMLHttpRequest()
  const [what, far] = chip.querySelectorAll('span, small')
  what.textContent = what.title = name
  label(chip, 'Cancel ' + name)
  chip.req = req
  $('blind').before(chip)
  say('Uploading ' + name)
  const done = new Promise(resolve => {
    req.upload.onprogress = p => { far.textContent = p.loaded < p.total ? Math.floor(100 * p.loaded / p.total) + ' %' : 'checking' }
    const end = next => {
      sending.delete(chip)
      const at = document.activeElement === chip.querySelector('button')
      chip.replaceWith(next)
      if (at) next.querySelector('button')?.focus()
      say('refused' in next.dataset ? name + ' was not attached' : name + ' is attached')
      changed()
      resolve()
    }
    req.onload = () => {
      const answer = document.createElement('template')
      if (req.status === 200) answer.innerHTML = req.responseText
      const next = answer.content.firstElementChild
      if (next && (ids().length < mostFiles || 'refused' in next.dataset)) return end(next)
      end(refused(name, next ? 'at most ' + mostFiles + ' files go into a message' : 'refused by Holdfast (' + req.status + ')'))
    }
    req.onerror = () => end(refused(name, 'Holdfast does not answer'))
    req.onabort = () => { sending.delete(chip); chip.remove(); say(name + ' is not attached'); changed(); resolve() }
  })
  sending.set(chip, done)
  changed()
  req.open('POST', '/files')
  req.setRequestHeader('X-File-Name', encodeURIComponent(file.name || ''))
  req.setRequestHeader('Content-Type', 'application/octet-stream')
  req.setRequestHeader('Accept', 'text/html')
  req.send(file)
}
async function show(list) {
  list = list.filter(id => !ids().includes(id)).slice(0, mostFiles)
  if (!list.length) return
  const res = await fetch('/files?' + list.map(id => 'id=' + encodeURIComponent(id)).join('&'), { headers: { Accept: 'text/html' } }).catch(() => null)
  if (!res?.ok) return
  const answer = document.createElement('template')
  answer.innerHTML = await res.text()
  $('blind').before(answer.content)
  changed()
}

function choose() {
  const input = document.createElement('input')
  input.type = 'file'
  input.multiple = true
  input.onchange = () => [...input.files].forEach(upload)
  input.click()
}
function unattach(button) {
  const chip = button.closest('.is-file'), next = chip.nextElementSibling?.querySelector('button') || chip.previousElementSibling?.querySelector('button') || $('composer-text')
  if (sending.has(chip)) chip.req.abort()
  else chip.remove()
  changed()
  next.focus()
}

// A message waits for its files; one that was refused must be taken out first.
async function submit(e) {
  if (chips().some(c => 'refused' in c.dataset)) {
    e.preventDefault()
    e.isWaiting = true
    return complain('Remove the file that was not attached, then send.')
  }
  if (!sending.size) return
  e.preventDefault()
  e.isWaiting = true
  complain('Sends as soon as the files are uploaded.')
  await Promise.all(sending.values())
  $('composer').requestSubmit()
}

const carries = e => [...(e.dataTransfer?.types || [])].includes('Files')
document.addEventListener('DOMContentLoaded', () => {
  const form = $('composer'), area = $('composer-text')
  if (!area || !$('files')) return
  const here = form.closest('.main') || form
  const closed = () => !form.offsetParent
  document.addEventListener('click', e => {
    const act = e.target.closest('[data-act]')
    if (act?.dataset.act === 'attach') choose()
    if (act?.dataset.act === 'unattach') unattach(act)
  })
  form.addEventListener('submit', submit, true)
  document.addEventListener('change', e => { if (e.target.id === 'pick-model_config_id') changed() })
  // A form that leads to another page takes its files along.
  if (!form.dataset.chat) form.addEventListener('submit', e => { if (!e.defaultPrevented) keep([]) })
  addEventListener('sent', e => { for (const c of chips()) if (e.detail.includes(c.querySelector('input')?.value)) c.remove(); changed() })
  addEventListener('attach', e => show(e.detail))
  here.addEventListener('dragover', e => {
    if (!carries(e) || closed()) return
    e.preventDefault()
    e.dataTransfer.dropEffect = 'copy'
    form.classList.add('is-drop')
  })
  here.addEventListener('dragleave', e => { if (!here.contains(e.relatedTarget)) form.classList.remove('is-drop') })
  here.addEventListener('drop', e => {
    form.classList.remove('is-drop')
    if (!carries(e) || closed()) return
    e.preventDefault()
    ;[...e.dataTransfer.files].forEach(upload)
  })
  area.addEventListener('paste', e => {
    const files = [...(e.clipboardData?.files || [])], text = e.clipboardData?.getData('text/plain') || ''
    if (files.length && !text) {
      e.preventDefault()
      files.forEach(upload)
    } else if (text.length > longText) {
      e.preventDefault()
      upload(new File([text], 'pasted.txt', { type: 'text/plain' }))
    }
  })
  show(kept())
  changed()
})
})()
