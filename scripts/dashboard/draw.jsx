// Draws the panels of the shipped dashboard with Grafana's own components, from what a Prometheus answered: a page whose
// global `ANSWERS` is {dashboard, from, to, panels: {<id>: [<result of each target's query_range>]}}.
import {
  createTheme, dateTime, FieldColorModeId, FieldType, getDisplayProcessor, getFieldDisplayName, ThemeContext, toDataFrame,
} from '@grafana/data'
import { BigValue, BigValueTextMode, GlobalStyles, PanelChrome, TimeSeries } from '@grafana/ui'
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'

const COLUMN = 1560 / 24
const ROW = 38
const GAP = 8
const theme = createTheme({ colors: { mode: 'dark' } })

// Grafana names a series by its legend format, {{label}}, else by all of its labels.
const legend = (target, labels) => {
  if (target.legendFormat && target.legendFormat !== '__auto') return target.legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '')
  return Object.values(labels).join(' ') || target.expr
}

const frames = (panel, results) => {
  const color = { mode: panel.type === 'stat' ? FieldColorModeId.Thresholds : FieldColorModeId.PaletteClassic }
  const data = results.flatMap((series, place) => series.map(({ metric, values }) => toDataFrame({
    refId: panel.targets[place].refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: values.map(([at]) => at * 1000), config: { interval: ANSWERS.step * 1000 } },
      {
        name: 'Value', type: FieldType.number, values: values.map(([, value]) => Number(value)),
        config: { color, ...panel.fieldConfig.defaults, displayNameFromDS: legend(panel.targets[place], metric), custom: {} },
      },
    ],
  })))
  data.forEach(({ fields: [, field] }, seriesIndex) => {
    field.state = { seriesIndex }
    field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' })
  })
  return data
}

const stat = (panel, data, width, height) => {
  const [frame] = data
  if (!frame) return 'No data'
  const field = frame.fields[1]
  const value = field.display(field.values.at(-1))
  value.title = getFieldDisplayName(field, frame, data)
  return h(BigValue, {
    value, width, height, theme, colorMode: panel.options.colorMode,
    textMode: panel.options.textMode === 'name' ? BigValueTextMode.Name : BigValueTextMode.Value,
  })
}

const timeseries = (panel, data, width, height) => {
  const range = { from: dateTime(ANSWERS.from * 1000), to: dateTime(ANSWERS.to * 1000), raw: { from: 'now-5m', to: 'now' } }
  return h(TimeSeries, {
    frames: data, width, height, timeRange: range, timeZone: 'utc',
    legend: { ...panel.options.legend, showLegend: true, calcs: [] }, options: panel.options,
  })
}

const Panel = ({ panel }) => {
  const { x, y, w, h: rows } = panel.gridPos
  const place = { position: 'absolute', left: x * COLUMN + GAP, top: y * ROW + GAP, width: w * COLUMN - GAP, height: rows * ROW - GAP }
  if (panel.type === 'row') return h('h3', { style: { ...place, margin: 0, font: theme.typography.h5 } }, panel.title)
  const data = frames(panel, ANSWERS.panels[panel.id])
  const draw = { stat, timeseries }[panel.type]
  return h('div', { style: place, 'data-panel': panel.id }, h(PanelChrome, {
    title: panel.title, width: place.width, height: place.height,
  }, (width, height) => draw(panel, data, width, height)))
}

const { panels } = ANSWERS.dashboard
const high = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h)) * ROW + 2 * GAP
Object.assign(document.body.style, { margin: 0, background: theme.colors.background.canvas, color: theme.colors.text.primary, font: '14px Inter, sans-serif' })
createRoot(document.getElementById('root')).render(h(ThemeContext.Provider, { value: theme },
  h(GlobalStyles, { isExtensionSidebarOpen: false }),
  h('div', { style: { position: 'relative', width: 24 * COLUMN + 2 * GAP, height: high } }, panels.map((panel) => h(Panel, { panel, key: panel.id })))))
