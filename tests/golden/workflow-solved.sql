BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.7600000000828223229e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","kind":"workflow","name":"deep","file":"{WORKSPACE}/deep.yaml","program":"deep.yaml","task":"a hut","max_steps":6,"interactive":false,"report_dir":"sol-reports/hbxg8j","definition":{"deep.yaml":{"":{"initial_step":"dbf9868785714c25","max_steps":"e7f6c011776e8db7","loop_monitors":"4f53cda18c2baa0c"},"plan":{"persona":"4f53cda18c2baa0c","instruction":"06d6da81558510c4","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"155ed3382176c7e0","parallel":"bb5bb1b3a77487ee"},"solve":{"persona":"4f53cda18c2baa0c","instruction":"13dac376553ec27c","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"b5bea41b6c623f7c","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"c31e2d10d372fcd7","parallel":"bb5bb1b3a77487ee"},"last":{"persona":"4f53cda18c2baa0c","instruction":"71539b1284442a80","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3bc70e44ca7ae880","parallel":"bb5bb1b3a77487ee"}}},"warnings":[],"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.7600000000828223229e+09,'created','plan#1','{"step":"plan","up":"","frame":"","content":"aac00660293ae542","n":1,"iteration":1}');
INSERT INTO "events" VALUES(1099511627779,1.7600000000828223229e+09,'started','plan#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.7600000000973138809e+09,'reported','plan#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.003747,"report":{"summary":"done","result":"plan went well. [PLAN:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627781,1.7600000000973138809e+09,'decided','plan#1','{"section":"rules","rule":0,"kind":"label","condition":"the plan is ready","next":"solve","read":{"tag":"[PLAN:1]"},"verdict":"the plan is ready"}');
INSERT INTO "events" VALUES(1099511627782,1.7600000000973138809e+09,'settled','plan#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627783,1.7600000000973138809e+09,'created','solve#1','{"step":"solve","up":"","frame":"","content":"5ad780239be02f12","n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627784,1.7600000000973138809e+09,'started','solve#1','{"kind":"solve","n":1}');
INSERT INTO "events" VALUES(1099511627785,1.7600000001387577057e+09,'progressed','solve#1','{"kind":"solve","n":1,"event":{"type":"partial","key":"run","value":"kgrm4td3ck"}}');
INSERT INTO "events" VALUES(1099511627786,1.76000000017895126339e+09,'progressed','solve#1','{"kind":"solve","n":1,"usage":{"calls":1,"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":1,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627787,1.76000000018760824208e+09,'progressed','solve#1','{"kind":"solve","n":1,"usage":{"calls":1},"event":{"type":"spent","usage":{"calls":1,"tokens":0,"cost":0.0,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627788,1.76000000021090745924e+09,'progressed','solve#1','{"kind":"solve","n":1,"usage":{"calls":2,"tokens":600,"cost":0.004},"event":{"type":"spent","usage":{"calls":2,"tokens":600,"cost":0.004,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627789,1.76000000023479843142e+09,'progressed','solve#1','{"kind":"solve","n":1,"usage":{"calls":2},"event":{"type":"spent","usage":{"calls":2,"tokens":0,"cost":0.0,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627790,1.76000000025894331933e+09,'progressed','solve#1','{"kind":"solve","n":1,"usage":{"calls":1},"event":{"type":"spent","usage":{"calls":1,"tokens":0,"cost":0.0,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627791,1760000000.28274,'progressed','solve#1','{"kind":"solve","n":1,"usage":{"calls":1},"event":{"type":"spent","usage":{"calls":1,"tokens":0,"cost":0.0,"reported":true}}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000030168819425e+09,'reported','solve#1','{"kind":"solve","n":1,"report":{"status":"SUCCESS","summary":"put together","result":{"verdict":"solved","text":"walls and roof stand"}}}');
INSERT INTO "events" VALUES(1099511627793,1.76000000030168819425e+09,'decided','solve#1','{"section":"rules","rule":0,"kind":"label","condition":"solved","next":"last","read":{"labels":["solved"]},"verdict":"solved"}');
INSERT INTO "events" VALUES(1099511627794,1.76000000030168819425e+09,'settled','solve#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627795,1.76000000030168819425e+09,'created','last#1','{"step":"last","up":"","frame":"","content":"c83b8d7db450d4e1","n":1,"iteration":3}');
INSERT INTO "events" VALUES(1099511627796,1.76000000030168819425e+09,'started','last#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627797,1.76000000034388780593e+09,'reported','last#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.003608,"report":{"summary":"done","result":"last went well. [LAST:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627798,1.76000000034388780593e+09,'decided','last#1','{"section":"rules","labels":[],"wait":true}');
INSERT INTO "events" VALUES(1099511627799,1.76000000034388780593e+09,'started','last#1','{"kind":"rule","n":1,"because":{"rule":"rules/0","question":"does the hut stand?"},"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627800,1.76000000035286664964e+09,'answer','last#1','{"kind":"rule","n":1,"answer":{"holds":true,"reason":"seen"},"usage":{"calls":1},"seconds":0.0001}');
INSERT INTO "events" VALUES(1099511627801,1.76000000035286664964e+09,'decided','last#1','{"section":"rules","rule":0,"kind":"ai","condition":"ai(\"does the hut stand?\")","next":"COMPLETE","read":{"holds":true,"reason":"seen"},"verdict":"ai(\"does the hut stand?\")","reason":"seen"}');
INSERT INTO "events" VALUES(1099511627802,1.76000000035286664964e+09,'settled','last#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627803,1.76000000035286664964e+09,'settled','','{"state":"success","kind":"","reason":"","result":"last went well. [LAST:1]"}');
INSERT INTO "events" VALUES(1099511627804,1.76000000035286664964e+09,'run_status','','{"status":"success"}');
INSERT INTO "events" VALUES(2199023255553,1.76000000013724684712e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"model","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","assignment":{"goal":"solve what is planned in deep.yaml","context":"Step ''solve'' of the workflow ''deep'', visit 1 of it, step 2 of at most 6.","inputs":{"task":"a hut","previous_response":"plan went well. [PLAN:1]"},"constraints":[],"expected_output":{"description":"A text in Markdown.\n\nEnd with exactly one of these tags, on a line of its own:\n- [SOLVE:1] if: solved"},"success_criteria":[{"text":"The answer does what the goal asks, in the form that is expected."}],"stop_conditions":["Something that only a person can decide or give is missing: say what it is."]},"inputs":{},"result_file":null,"files":{"strategy":"{WORKSPACE}/golden.yaml"},"strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}},"file_strategy":{"name":"golden","description":"The strategy of the golden runs, kept beside them so that no change of a shipped one touches them.","attempt":"first","max_depth":5,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(2199023255554,1.76000000013724684712e+09,'created','','{"assignment":{"goal":"solve what is planned in deep.yaml","context":"Step ''solve'' of the workflow ''deep'', visit 1 of it, step 2 of at most 6.","inputs":{"task":"a hut","previous_response":"plan went well. [PLAN:1]"},"constraints":[],"expected_output":{"description":"A text in Markdown.\n\nEnd with exactly one of these tags, on a line of its own:\n- [SOLVE:1] if: solved"},"success_criteria":[{"text":"The answer does what the goal asks, in the form that is expected."}],"stop_conditions":["Something that only a person can decide or give is missing: say what it is."]}}');
INSERT INTO "events" VALUES(2199023255555,1.76000000013724684712e+09,'started','','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255556,1.76000000017173051838e+09,'progressed','','{"kind":"attempt","n":1,"usage":{"tokens":120,"cost":0.001},"event":{"type":"spent","usage":{"calls":0,"tokens":120,"cost":0.001,"reported":true}}}');
INSERT INTO "events" VALUES(2199023255557,1.76000000017173051838e+09,'reported','','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.007278,"report":{"blocker":"solve what is planned in deep.yaml is more than one thing","known":["there is wood"],"unknown":["how much of it"],"status":"STUCK","kind":"other"}}');
INSERT INTO "events" VALUES(2199023255558,1.76000000017173051838e+09,'stopped','','{"n":1}');
INSERT INTO "events" VALUES(2199023255559,1.76000000017173051838e+09,'analysed','','{"kind":"other","blocker":"solve what is planned in deep.yaml is more than one thing","unknown":["how much of it"]}');
INSERT INTO "events" VALUES(2199023255560,1.76000000017173051838e+09,'decided','','{"section":"report","rule":1,"kind":"label","condition":"STUCK","next":"split"}');
INSERT INTO "events" VALUES(2199023255561,1.76000000017173051838e+09,'started','','{"kind":"split","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255562,1.76000000018151688571e+09,'answer','','{"kind":"split","n":1,"answer":{"children":[{"goal":"stack the stones of the wall","claim":"simpler","success_criteria":[{"text":"done: stack the stones of the wall"}],"expected_output":null,"inputs":null,"worker":null},{"goal":"lay the shingles of the roof slowly","claim":"simpler","success_criteria":[{"text":"done: lay the shingles of the roof slowly"}],"expected_output":null,"inputs":null,"worker":null}],"sequential":false,"dimension":"data_logic","reason":"two things","how":"model"},"usage":{"calls":1},"seconds":0.000106}');
INSERT INTO "events" VALUES(2199023255563,1.76000000018151688571e+09,'split','','{"children":["0","1"],"goals":["stack the stones of the wall","lay the shingles of the roof slowly"],"how":"model","dimension":"data_logic","sequential":false,"reason":"two things","because":"other"}');
INSERT INTO "events" VALUES(2199023255564,1.76000000018151688571e+09,'created','0','{"assignment":{"goal":"stack the stones of the wall","success_criteria":[{"text":"done: stack the stones of the wall"}],"expected_output":{"description":"The result of: stack the stones of the wall"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(2199023255565,1.76000000018151688571e+09,'created','1','{"assignment":{"goal":"lay the shingles of the roof slowly","success_criteria":[{"text":"done: lay the shingles of the roof slowly"}],"expected_output":{"description":"The result of: lay the shingles of the roof slowly"}},"claim":"simpler"}');
INSERT INTO "events" VALUES(2199023255566,1.76000000018151688571e+09,'started','0','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255567,1.76000000018151688571e+09,'started','1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255568,1.76000000019855833057e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to stack the stones of the wall."}}');
INSERT INTO "events" VALUES(2199023255569,1.76000000019855833057e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"stack the stones of the wall"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(2199023255570,1.76000000019855833057e+09,'progressed','0','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"stack the stones of the wall","again":false}}}');
INSERT INTO "events" VALUES(2199023255571,1.76000000019855833057e+09,'progressed','0','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(2199023255572,1.76000000019855833057e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"said","text":"I am going to lay the shingles of the roof slowly."}}');
INSERT INTO "events" VALUES(2199023255573,1.76000000019855833057e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"action","name":"saw","arguments":{"what":"lay the shingles of the roof slowly"},"observation":"it fits","error":false,"paths":["wood.txt"]}}');
INSERT INTO "events" VALUES(2199023255574,1.76000000019855833057e+09,'progressed','1','{"kind":"attempt","n":1,"event":{"type":"partial","key":"half","value":{"of":"lay the shingles of the roof slowly","again":false}}}');
INSERT INTO "events" VALUES(2199023255575,1.76000000019855833057e+09,'progressed','1','{"kind":"attempt","n":1,"usage":{"tokens":300,"cost":0.002},"event":{"type":"spent","usage":{"calls":0,"tokens":300,"cost":0.002,"reported":true}}}');
INSERT INTO "events" VALUES(2199023255576,1.76000000019855833057e+09,'reported','0','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.008181,"report":{"summary":"done","result":{"did":"stack the stones of the wall","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(2199023255577,1.76000000019855833057e+09,'decided','0','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(2199023255578,1.76000000019855833057e+09,'checked','0','{"kind":"check","n":0,"results":[{"criterion":"done: stack the stones of the wall","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(2199023255579,1.76000000019855833057e+09,'reported','1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.008144,"report":{"summary":"done","result":{"did":"lay the shingles of the roof slowly","answer":""},"evidence":["seen"],"status":"SUCCESS"}}');
INSERT INTO "events" VALUES(2199023255580,1.76000000019855833057e+09,'decided','1','{"section":"report","rule":0,"kind":"label","condition":"SUCCESS","next":"validate"}');
INSERT INTO "events" VALUES(2199023255581,1.76000000019855833057e+09,'checked','1','{"kind":"check","n":0,"results":[{"criterion":"done: lay the shingles of the roof slowly","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(2199023255582,1.76000000019855833057e+09,'started','0','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255583,1.76000000019855833057e+09,'started','1','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255584,1.76000000021894359588e+09,'answer','0','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.4e-05}');
INSERT INTO "events" VALUES(2199023255585,1.76000000021894359588e+09,'decided','0','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(2199023255586,1.76000000021894359588e+09,'settled','0','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(2199023255587,1.76000000021894359588e+09,'answer','1','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":3.6e-05}');
INSERT INTO "events" VALUES(2199023255588,1.76000000021894359588e+09,'decided','1','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(2199023255589,1.76000000021894359588e+09,'settled','1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(2199023255590,1.76000000021894359588e+09,'decided','','{"section":"children","rule":0,"kind":"aggregate","condition":"all(\"success\")","next":"integrate","read":{"children":[["0","success"],["1","success"]]}}');
INSERT INTO "events" VALUES(2199023255591,1.76000000021894359588e+09,'started','','{"kind":"integrate","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255592,1.76000000024154257772e+09,'answer','','{"kind":"integrate","n":1,"answer":{"result":{"verdict":"solved","text":"walls and roof stand"},"summary":"put together","checks":{"no_contradiction":{"ok":true,"note":"about no_contradiction"},"interfaces_agree":{"ok":true,"note":"about interfaces_agree"},"goal_met":{"ok":true,"note":"about goal_met"},"nothing_open":{"ok":true,"note":"about nothing_open"},"parts_imply_whole":{"ok":true,"note":"about parts_imply_whole"}},"open":[]},"usage":{"calls":1},"seconds":8.7e-05}');
INSERT INTO "events" VALUES(2199023255593,1.76000000024154257772e+09,'checked','','{"kind":"check","n":0,"results":[{"criterion":"The answer does what the goal asks, in the form that is expected.","kind":"text","ok":null,"detail":""}]}');
INSERT INTO "events" VALUES(2199023255594,1.76000000024154257772e+09,'started','','{"kind":"judge","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(2199023255595,1.76000000026121115686e+09,'answer','','{"kind":"judge","n":1,"answer":{"verdicts":[{"holds":true,"reason":"seen"}]},"usage":{"calls":1},"seconds":8.6e-05}');
INSERT INTO "events" VALUES(2199023255596,1.76000000026121115686e+09,'decided','','{"section":"validation","rule":0,"kind":"label","condition":"passed","next":"accept"}');
INSERT INTO "events" VALUES(2199023255597,1.76000000026121115686e+09,'settled','','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(2199023255598,1.76000000026121115686e+09,'run_status','','{"status":"success"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'hbxg8j',1.7600000000731060505e+09,'deep: a hut','{"kind":"workflow","name":"deep"}','success','{"nodes":4,"calls":11,"tokens":720,"cost":0.005,"elapsed_s":0.274}',28,1.76000000035286664964e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES(2,'kgrm4td3ck',1.76000000012064623834e+09,'solve what is planned in deep.yaml','{}','success','{"nodes":3,"calls":8,"tokens":720,"cost":0.005,"elapsed_s":0.127}',46,1.76000000026121115686e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
