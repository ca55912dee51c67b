// What report.html does beyond showing itself: its curves can be zoomed and read off, and a
// press on a number shows what hovering shows. Without it the page holds the same figures.
'use strict';

(() => {
  const NAMES = {
    loss: 'training loss', accuracy: 'test accuracy',
    time: 'training time, s', samples: 'samples, all workers', bytes: 'payload sent by all workers',
  };

  // 1234567 -> "1.23 M"; bytes with their unit.
  function si(value, unit) {
    const letters = ['', 'k', 'M', 'G', 'T'];
    let i = 0;
    while (Math.abs(value) >= 1000 && i < 4) { value /= 1000; i++; }
    return +value.toPrecision(3) + (i || unit ? ' ' + letters[i] + unit : '');
  }
  const writeX = {
    time: v => +v.toPrecision(4) + ' s',
    samples: v => si(v, ''),
    bytes: v => si(v, 'B'),
  };
  const tickX = { time: v => String(+v.toPrecision(6)), samples: writeX.samples, bytes: writeX.bytes };
  const writeY = {
    loss: v => String(+v.toPrecision(4)),
    accuracy: v => +(100 * v).toFixed(2) + '%',
  };

  // The markers of the page's SVG symbols, drawn on a canvas.
  const MARKERS = {
    circle: (c, r) => { c.arc(0, 0, r, 0, 2 * Math.PI); c.fill(); },
    square: (c, r) => { c.rect(-r, -r, 2 * r, 2 * r); c.fill(); },
    diamond: (c, r) => {
      c.moveTo(0, -1.4 * r); c.lineTo(1.4 * r, 0); c.lineTo(0, 1.4 * r); c.lineTo(-1.4 * r, 0); c.fill();
    },
    triangle: (c, r) => { c.moveTo(0, -1.3 * r); c.lineTo(1.2 * r, r); c.lineTo(-1.2 * r, r); c.fill(); },
    cross: (c, r) => {
      c.moveTo(-r, -r); c.lineTo(r, r); c.moveTo(-r, r); c.lineTo(r, -r); c.stroke();
    },
    star: (c, r) => {
      c.moveTo(0, -1.2 * r); c.lineTo(0, 1.2 * r); c.moveTo(-1.2 * r, 0); c.lineTo(1.2 * r, 0);
      c.moveTo(-r, -r); c.lineTo(r, r); c.moveTo(-r, r); c.lineTo(r, -r); c.stroke();
    },
    frame: (c, r) => { c.rect(-r, -r, 2 * r, 2 * r); c.stroke(); },
    wedge: (c, r) => { c.moveTo(0, 1.3 * r); c.lineTo(1.2 * r, -r); c.lineTo(-1.2 * r, -r); c.fill(); },
    flag: (c, r) => { c.moveTo(-r, 1.2 * r); c.lineTo(-r, -1.2 * r); c.lineTo(1.3 * r, 0); c.fill(); },
    ring: (c, r) => { c.arc(0, 0, r, 0, 2 * Math.PI); c.stroke(); },
    bars: (c, r) => {
      c.moveTo(-.8 * r, -1.2 * r); c.lineTo(-.8 * r, 1.2 * r);
      c.moveTo(.8 * r, -1.2 * r); c.lineTo(.8 * r, 1.2 * r); c.stroke();
    },
  };

  function drawMarkers(plot, index, curve, every) {
    const c = plot.ctx, xs = plot.data[0], ys = plot.data[index];
    const min = plot.scales.x.min, max = plot.scales.x.max;
    const own = [];
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] != null && xs[i] >= min && xs[i] <= max) own.push(i);
    }
    const step = every ? 1 : Math.max(1, Math.floor(own.length / 7));
    c.save();
    c.beginPath();
    c.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    c.clip();
    c.setLineDash([]);
    c.lineWidth = 2 * devicePixelRatio;
    c.strokeStyle = c.fillStyle = curve.color;
    for (let k = step >> 1; k < own.length; k += step) {
      const i = own[k];
      c.save();
      c.translate(plot.valToPos(xs[i], 'x', true), plot.valToPos(ys[i], 'y', true));
      c.beginPath();
      (MARKERS[curve.marker] || MARKERS.circle)(c, 3.4 * devicePixelRatio);
      c.restore();
    }
    c.restore();
  }

  // The point of a curve that is nearest to the cursor.
  function nearest(plot, index, hovered) {
    if (index === 0) return hovered;
    const xs = plot.data[0], ys = plot.data[index];
    let left = hovered, right = hovered;
    while (left >= 0 && ys[left] == null) left--;
    while (right < xs.length && ys[right] == null) right++;
    if (left < 0) return right < xs.length ? right : hovered;
    if (right >= xs.length) return left;
    const at = xs[hovered];
    return at - xs[left] <= xs[right] - at ? left : right;
  }

  // Runs of one view: {name, color, dash, marker, typical, points: [xs, ys]}.
  function curvesOf(strategies, hidden, what, against) {
    const curves = [];
    for (const s of strategies) {
      if (hidden.has(s.name)) continue;
      for (const run of s.runs) {
        const own = run[what];
        if (!own.value.length || (against === 'bytes' && !run.bytes_per_sample)) continue;
        const xs = against === 'time' ? own.time
          : own.samples.map(n => (against === 'bytes' ? n * run.bytes_per_sample : n));
        curves.push({ ...s, typical: run.typical, points: [xs, own.value] });
      }
    }
    // Those that stand out come last, on top.
    return curves.sort((a, b) => a.typical - b.typical);
  }

  function options(curves, what, against, log, width, onCursor) {
    const zoomed = plot => plot.scales.x.min > 0 || plot.scales.x.max < plot.data[0].at(-1);
    return {
      width, height: Math.round(Math.min(420, Math.max(260, width * 0.45))),
      legend: { show: false },
      cursor: { dataIdx: nearest, points: { size: 7 }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, range: (plot, min, max) => (min === plot.data[0][0] ? [0, max] : [min, max]) },
        y: {
          distr: log ? 3 : 1,
          range: (plot, min, max) => {
            if (min == null) return log ? [0.1, 1] : [0, 1];
            if (log) return uPlot.rangeLog(min, max, 10, false);
            const margin = 0.03 * (max - min || 1);
            return [what === 'loss' && !zoomed(plot) ? Math.min(0, min) : min - margin, max + margin];
          },
        },
      },
      axes: [
        { label: NAMES[against], values: (plot, ticks) => ticks.map(tickX[against]), space: 70,
          size: 34, labelSize: 22, labelGap: 0, font: '12px system-ui, sans-serif',
          labelFont: '12px system-ui, sans-serif' },
        { values: (plot, ticks) => ticks.map(v => (v == null ? '' : writeY[what](v))), size: 52,
          font: '12px system-ui, sans-serif' },
      ],
      series: [{}].concat(curves.map(curve => ({
        label: curve.name,
        stroke: curve.typical ? curve.color : curve.color + '66',
        width: curve.typical ? 2 : 1,
        dash: curve.dash === 'none' ? undefined : curve.dash.split(' ').map(Number),
        spanGaps: true,
        points: { show: what === 'accuracy' && !curve.typical ? true : undefined, size: 5 },
      }))),
      hooks: {
        draw: [plot => curves.forEach((curve, i) => {
          if (curve.typical) drawMarkers(plot, i + 1, curve, what === 'accuracy');
        })],
        setCursor: [onCursor],
      },
    };
  }

  function explore(box) {
    const strategies = JSON.parse(box.querySelector('script').textContent);
    const live = box.querySelector('.live');
    const hidden = new Set();
    let plot = null;

    function showValues(u, curves, what, against) {
      for (const item of box.querySelectorAll('[data-curve]')) {
        const index = curves.findIndex(c => c.typical && c.name === item.dataset.curve);
        const at = index < 0 || u.cursor.left < 0 ? null : u.cursor.idxs[index + 1];
        const y = at == null ? null : u.data[index + 1][at];
        item.querySelector('output').textContent =
          y == null ? '' : writeY[what](y) + ' at ' + writeX[against](u.data[0][at]);
      }
    }

    function draw() {
      const chosen = name => box.querySelector('.' + name + ':checked');
      const what = chosen('loss') ? 'loss' : 'accuracy';
      const against = chosen('time') ? 'time' : chosen('samples') ? 'samples' : 'bytes';
      const curves = curvesOf(strategies, hidden, what, against);
      if (plot) plot.destroy();
      plot = null;
      live.replaceChildren();
      if (!curves.length) {
        live.textContent = 'Nothing to draw in this view.';
        return;
      }
      const data = uPlot.join(curves.map(c => c.points));
      plot = new uPlot(
        options(curves, what, against, log.checked && what === 'loss', live.clientWidth,
                u => showValues(u, curves, what, against)),
        data, live);
    }

    box.classList.add('explorable');
    for (const item of box.querySelectorAll('[data-curve]')) {
      const check = document.createElement('input');
      check.type = 'checkbox';
      check.checked = true;
      check.setAttribute('aria-label', 'show ' + item.dataset.curve);
      check.addEventListener('change', () => {
        if (check.checked) hidden.delete(item.dataset.curve); else hidden.add(item.dataset.curve);
        draw();
      });
      item.prepend(check);
    }
    const log = document.createElement('input');
    log.type = 'checkbox';
    log.addEventListener('change', draw);
    const logLabel = document.createElement('label');
    logLabel.append(log, ' loss on a log scale');
    const reset = document.createElement('button');
    reset.type = 'button';
    reset.textContent = 'whole range';
    reset.addEventListener('click', draw);
    box.querySelector('.switches').append(logLabel, reset);
    for (const radio of box.querySelectorAll('input[type=radio]')) radio.addEventListener('change', draw);
    new ResizeObserver(() => {
      if (plot && plot.width !== live.clientWidth && live.clientWidth > 0) draw();
    }).observe(live);
    draw();
  }

  for (const box of document.querySelectorAll('.curves')) explore(box);

  // Touch has no hovering: a press on a number shows its title.
  const note = document.createElement('div');
  note.className = 'definition';
  if ('showPopover' in note) {
    note.setAttribute('popover', '');
    document.body.append(note);
    document.addEventListener('click', event => {
      const figure = event.target.closest('[data-metric][title]');
      if (!figure) return;
      note.textContent = figure.title;
      note.showPopover();
    });
  }
})();
